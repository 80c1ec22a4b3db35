"""What clang-tidy is to read: the source files in few translation units, because the headers of a unit cost it more time
than the files themselves.

    lint_units.py COMPILE_COMMANDS FOLDER [CHANGED...]

COMPILE_COMMANDS lists every source file by itself. Writes units into FOLDER, with a compile_commands.json of their own, and
prints the path of every unit, one a line; with CHANGED (paths from the project's root) only of those that hold one of them.

Files of a library lie together by folder, which therefore may not define a name twice. Programs and tests define nothing
that others use: each is put into a namespace of its own, so that any number of them fit into a unit. Their headers are
included before it.
"""

import json
import pathlib
import re
import shlex
import sys

LINES = 4000  # of programs or tests in a unit: enough to outweigh the headers, and all processors have one
# Arguments that make no difference to what clang-tidy finds, so that files with others fit into one unit.
SAME_CODE = re.compile(r"-(O.|g\d?|W.*|f(no-)?sanitize.*|fno-omit-frame-pointer|f(no-)?PI[CE]|c)$")
HEAD = re.compile(r"(//.*\n|#.*\n|\n)*")  # of a file: all before its first line of code
BESIDE = re.compile(r'^#include "(.*)"', re.MULTILINE)
REOPENED = re.compile(r"^namespace (heddle(?:::\w+)*) \{", re.MULTILINE)
# What cannot be in a namespace of ours: those of others, main() of doctest.
OTHERS = re.compile(r"^(namespace (std|fmt|doctest|nlohmann)|template <>|#define DOCTEST_CONFIG_IMPLEMENT)", re.MULTILINE)


class Source:
    """A file, the macros and folders that it is compiled with, and what else the compiler must be told."""

    def __init__(self, root, entry):
        self.path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        self.name = self.path.relative_to(root)
        self.text = self.path.read_text()
        self.lines = self.text.count("\n")
        self.macros, self.folders, self.rest = {}, [], []
        words = iter(shlex.split(entry["command"])[1:])
        for word in words:
            if word == "-o":
                next(words)
            elif word.startswith("-D"):
                name, _, value = word[2:].partition("=")
                self.macros[name] = value
            elif word in ("-isystem", "-I"):
                self.folders.append((word, next(words)))
            elif word.startswith("-I"):
                self.folders.append(("-I", word[2:]))
            elif word != entry["file"] and not SAME_CODE.match(word):
                self.rest.append(word)

    def stands_alone(self):
        """Whether it defines nothing that another file uses, and may be in a namespace of its own."""
        last = self.name.stem.endswith("_test") or re.search(r"^int main\(", self.text, re.MULTILINE)
        return self.name.parts[0] in ("tests", "bench", "examples") and last and not OTHERS.search(self.text)

    def head(self):
        """Its includes, as they are found from anywhere."""
        def found(match):
            beside = self.path.parent / match[1]
            return f'#include "{beside}"' if beside.is_file() else match[0]

        return BESIDE.sub(found, HEAD.match(self.text)[0])

    def in_space(self, number):
        """The file in a namespace of its own, where the names of those that it reopens are known as before."""
        known = [f"namespace {name} {{ using namespace ::{name}; }}\n"
                 for name in sorted({"heddle", *REOPENED.findall(self.text)})]
        return f'namespace unit_{number} {{\n{"".join(known)}#include "{self.path}"\n}}\n'


class Unit:
    """Files that are read together."""

    def __init__(self, label, alone):
        self.label, self.alone = label, alone
        self.sources, self.macros, self.folders, self.rest = [], {}, [], None

    def lines(self):
        return sum(source.lines for source in self.sources)

    def fits(self, source):
        """Whether one command suits it and the others."""
        if self.rest is not None and self.rest != source.rest:
            return False
        if any(self.macros.get(name, value) != value for name, value in source.macros.items()):
            return False
        return not self.alone or self.lines() + source.lines <= LINES

    def add(self, source):
        self.sources.append(source)
        self.macros |= source.macros
        self.folders += [folder for folder in source.folders if folder not in self.folders]
        self.rest = source.rest

    def text(self):
        if not self.alone:
            return "".join(f'#include "{source.path}"\n' for source in self.sources)
        heads = [source.head() for source in self.sources]
        spaces = [source.in_space(number) for number, source in enumerate(self.sources)]
        return "".join([*heads, "namespace heddle {}\n", *spaces])

    def command(self, path):
        macros = [f"-D{name}={value}" if value else f"-D{name}" for name, value in self.macros.items()]
        folders = [word for folder in self.folders for word in folder]
        return ["c++", *macros, *folders, *self.rest, "-c", str(path)]


def sources_of(root, commands):
    """The project's own, each once, whatever the number of targets that it is compiled for."""
    found = {}
    for entry in commands:
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if not path.is_relative_to(root / "build"):
            found.setdefault(path, entry)
    return [Source(root, found[path]) for path in sorted(found)]


def units_of(sources):
    units = []
    for source in sources:
        alone = source.stands_alone()
        label = source.name.parts[0] if alone else "_".join(source.name.parent.parts)
        unit = next((each for each in units if (each.label, each.alone) == (label, alone) and each.fits(source)), None)
        if unit is None:
            unit = Unit(label, alone)
            units.append(unit)
        unit.add(source)
    return units


def main(commands, folder, *changed):
    root = pathlib.Path(__file__).resolve().parent.parent
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    units = units_of(sources_of(root, json.loads(pathlib.Path(commands).read_text())))
    units.sort(key=Unit.lines, reverse=True)  # so that no processor is left with a long one at the end
    entries = []
    for number, unit in enumerate(units):
        path = folder / f"{unit.label}_{number}.cpp"
        path.write_text(unit.text())
        entries.append({"directory": str(folder), "file": str(path), "arguments": unit.command(path)})
        if not changed or any(str(source.name) in changed for source in unit.sources):
            print(path)
    (folder / "compile_commands.json").write_text(json.dumps(entries, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
