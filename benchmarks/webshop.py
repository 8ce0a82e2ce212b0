"""`agentevol bench webshop` as a script: catalogues of generated products, written, opened and searched."""

from agentevol.bench.webshop import main

if __name__ == "__main__":
    main()
