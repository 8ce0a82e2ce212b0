"""Requests about a small tree of files."""

from collections.abc import Mapping
from random import Random

from agentgym_envs.bfcl.generator.request import Domain, Request, call
from agentgym_envs.bfcl.generator.words import FILES, FOLDERS, WORDS

ROOT = "garden"
Folder = dict[str, str]
"""Texts of files by name."""


class Files(Domain):
    """Folders of text files in one root; every request is about the folder in which the user is."""

    owner = "GorillaFileSystem"

    def __init__(self, draw: Random) -> None:
        super().__init__(draw)
        names = draw.sample(FILES, 9)
        self.folders: dict[str, Folder] = {
            folder: {f"{names.pop()}.txt": self._text() for _ in range(draw.randint(2, 3))}
            for folder in draw.sample(FOLDERS, 3)
        }
        self.here = ""

    def config(self) -> dict[str, object]:
        folders = {
            folder: _folder({name: {"type": "file", "content": text} for name, text in files.items()})
            for folder, files in self.folders.items()
        }
        return {"root": {ROOT: _folder(folders)}}

    def beginning(self) -> list[Request]:
        self.here = self.draw.choice(sorted(self.folders))
        says = f"Go to the folder '{self.here}' and list what is in it, hidden files too."
        return [Request(says, [call("cd", folder=self.here), call("ls", a=True)])]

    def request(self) -> Request:
        if len(self.folders[self.here]) < 2:
            return self._created()
        makers = (
            *(self._shown, self._counted, self._last, self._sorted, self._searched, self._compared),
            *(self._copied, self._moved, self._renamed, self._removed, self._created),
        )
        return self.draw.choice(makers)()

    def _shown(self) -> Request:
        name = self._file()
        return Request(f"Show me the whole text of '{name}'.", [call("cat", file_name=name)])

    def _counted(self) -> Request:
        name = self._file()
        mode, unit = self.draw.choice((("l", "lines"), ("w", "words"), ("c", "characters")))
        says = f"Count the {unit} of '{name}' with wc."
        vague, detail = f"Count '{name}' with wc.", f"I want to know its number of {unit}."
        return Request(says, [call("wc", file_name=name, mode=mode)], vague, detail)

    def _last(self) -> Request:
        name, lines = self._file(), self.draw.randint(2, 3)
        says = f"Give me the last {lines} lines of '{name}'."
        vague, detail = f"Give me the last lines of '{name}'.", f"The last {lines}, please."
        return Request(says, [call("tail", file_name=name, lines=lines)], vague, detail)

    def _sorted(self) -> Request:
        name = self._file()
        return Request(f"Sort the lines of '{name}' for me.", [call("sort", file_name=name)])

    def _searched(self) -> Request:
        name = self._file()
        word = self.draw.choice(self._texts[name].split())
        says = f"Search '{name}' for the lines with '{word}'."
        vague, detail = f"Search '{name}' for a word.", f"The word is '{word}'."
        return Request(says, [call("grep", file_name=name, pattern=word)], vague, detail)

    def _compared(self) -> Request:
        one, other = self.draw.sample(sorted(self._texts), 2)
        says = f"Compare '{one}' with '{other}', in this order."
        return Request(says, [call("diff", file_name1=one, file_name2=other)])

    def _copied(self) -> Request:
        name, copy = self._file(), self._new_name()
        self._texts[copy] = self._texts[name]
        return Request(f"Copy '{name}' to '{copy}'.", [call("cp", source=name, destination=copy)])

    def _renamed(self) -> Request:
        name, new = self._file(), self._new_name()
        self._texts[new] = self._texts.pop(name)
        says, vague = f"Rename '{name}' to '{new}'.", f"Rename '{name}'."
        detail = f"Its new name is '{new}'."
        return Request(says, [call("mv", source=name, destination=new)], vague, detail)

    def _moved(self) -> Request:
        name = self._file()
        folder = f"old_{len(self._texts)}_{name.removesuffix('.txt')}"
        del self._texts[name]
        says = f"Make a folder '{folder}' here and move '{name}' into it."
        return Request(says, [call("mkdir", dir_name=folder), call("mv", source=name, destination=folder)])

    def _removed(self) -> Request:
        name = self._file()
        del self._texts[name]
        return Request(f"Delete '{name}'.", [call("rm", file_name=name)])

    def _created(self) -> Request:
        name, text = self._new_name(), " ".join(self.draw.choices(WORDS, k=5))
        self._texts[name] = text
        says, vague = (
            f"Create '{name}' and write '{text}' into it.",
            f"Create '{name}' and write my note into it.",
        )
        calls = [call("touch", file_name=name), call("echo", content=text, file_name=name)]
        return Request(says, calls, vague, f"The note is '{text}'.")

    @property
    def _texts(self) -> Folder:
        return self.folders[self.here]

    def _file(self) -> str:
        return self.draw.choice(sorted(self._texts))

    def _new_name(self) -> str:
        free = [
            name for name in FILES if not any(f"new_{name}.txt" in files for files in self.folders.values())
        ]
        return f"new_{self.draw.choice(free)}.txt"

    def _text(self) -> str:
        lines = [" ".join(self.draw.choices(WORDS, k=self.draw.randint(3, 6))) for _ in range(4)]
        return "\n".join(lines)


def _folder(contents: Mapping[str, object]) -> dict[str, object]:
    return {"type": "directory", "contents": contents}
