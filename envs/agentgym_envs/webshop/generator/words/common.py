"""Brand names, which are invented, and option values."""

BRANDS = """
Abelor, Bintori, Calmoro, Dovanta, Elmira Row, Fennick, Gallowin, Hestara, Ivorelle, Jasperon, Kelvora,
Lunaro, Mirabeck, Nordvale, Ostrano, Pelligan, Quillmar, Rovanti, Selbourne, Tavanor, Umberly, Velmora,
Wexholm, Yarrowin, Zentari, Arkwell, Brontique, Castello Mar, Dunhaven, Esperal, Farnwick, Glenmora,
Harlique, Indora, Jorvane, Kestrin, Lindbrook, Montavi, Nimbrel, Oakmere, Parvani, Quorra, Ravenna Lane,
Solvique, Tindal, Ursolin, Vantrel, Westerlo, Yolande, Zephrin
"""

CLEAN = """
color: black, white, navy, gray, red, green, pink, purple, brown, beige, yellow, orange, teal, burgundy, gold
wear: small, medium, large, 2x wide, 3x tall, petite, kids, junior
shoe: 5, 6, 7, 8, 9, 10, 11, 12
fit: slim, regular, loose, athletic, big and tall, youth
volume: 2 ounce, 8 fluid ounce, 50 ml, 200 ml, half liter, one gallon, trial vial
weight: 4 ounce, 1 pound, 5 pounds, 200 grams, 1 kg, sample cup
scent: lavender, vanilla, rose, coconut, cedar, jasmine, mango, ocean
flavor: vanilla, honey, strawberry, garlic, lemon, cinnamon, hazelnut, mango, pepper, caramel
kit: single, duo kit, starter kit, refill, deluxe box
bundle: basic, with case, pro kit, family bundle
length: 3 feet, 10 feet, 50 cm, 2 meters, half meter
model: model a, series nine, model x7, generation two, lite
storage: 16 gb, 64 gb, 128 gb, 1 tb
dims: 24" x 24", 36" x 36", 48" x 60", 18" x 30", 72" x 84", 55" x 55"
pieces: 1 piece, set of 2, four pieces, half dozen
shape: round, square, oval, rectangle, hexagon
bed: twin, full, queen, california king
"""
"""Kind -> values that a goal may ask for."""

MESSY = """
color: black/white, navy/gold, dark blue, light gray, a1-black, b07 pink, turquoise, rose gold, matte silver
wear: x-small, x-large, xx-large, 3x-large, one size, medium/large
shoe: 6.5 wide, 8.5, 9.5 wide, 10 m us, 11 d(m) us
fit: relaxed/loose, tapered, straight
volume: 3-ounce (2-pack), 16.9 fl oz, 1.7 oz/50 ml, 8 ounce (pack of 2), travel size
weight: 3-ounce (2-pack), 12 ounce (pack of 1), 1.5 pound (pack of 6), 16 oz/453 g
scent: unscented, fresh/clean, tea tree & mint, 02 rose wood
flavor: variety pack, salt & vinegar, chocolate/mint, original, sweet chili
kit: 2-pack, set/3, kit no.4
bundle: 2-pack, bundle & case, plus/pro
length: 3.3 ft, 6-foot (2-pack), 1.5m/5ft
model: 38mm/40mm, 42mm/44mm, fits 6.1", universal
storage: 32 gb (2-pack), 256gb, 512 gb/usb c
dims: 28" x 28", 2' x 3', 5 x 7 ft, 60"w x 84"l
pieces: 1 pc, 2-pack, 4/set
shape: 6' round, u-shape, oval/slim
bed: twin xl, full/queen, cal king, rv short queen
"""
"""Kind -> further values, written as sellers do."""

NAMES = """
color: color
wear: size
shoe: size
fit: fit type
volume: size
weight: size
scent: scent
flavor: flavor name
kit: style
bundle: style
length: size
model: style
storage: capacity
dims: size
pieces: item package quantity
shape: shape
bed: size
"""
"""Kind -> name of the group."""

EMPTY = "style, pattern name, package type, item display weight, configuration"
"""Names of groups without values."""
