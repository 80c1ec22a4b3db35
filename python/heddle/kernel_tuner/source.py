"""A kernel, as Kernel Tuner's arguments describe it, as a description of heddle's."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from heddle.errors import InputError, UsageError
from heddle.kernel_tuner.util import default_block_size_names, evaluate

_CUDA = {"cuda", "cupy", "nvcuda", "pycuda"}
_MOST_TEXT = 4 << 20  # bytes of a source, of which a description takes as many
_MOST_TEXTS = 64 << 20  # of those of all configurations
_MOST_PARTS = 48  # headers that these are shared out over; a description takes 64, with those of the source's own
_GRID = ["grid_size_x", "grid_size_y", "grid_size_z"]
#: Names of parameters that no user gave; no kernel is likely to have a variable of such a name.
_HIDDEN = [f"kernel_tuner_{part}" for part in ("block_x", "block_y", "block_z", "shared_bytes")]
_VARIANT = "kernel_tuner_variant"
_UNROLL = "loop_unroll_factor"  # in the names of parameters that unroll a loop
_WORD = re.compile(r"([a-zA-Z0-9_]+)")
_TYPES = {
    "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64", "uint8": "uint8", "uint16": "uint16",
    "uint32": "uint32", "uint64": "uint64", "float16": "half", "float32": "float", "float64": "double", "bool": "uint8",
    "bfloat16": "__nv_bfloat16", "complex64": "float2", "complex128": "double2",
}  # fmt: skip


def replaced(text: str, params: dict) -> str:
    """The text with the values of parameters in place of their names."""
    return "".join(str(params[part]) if part in params else part for part in _WORD.split(text))


def is_file_name(source) -> bool:
    """Whether a text is the name of a source, and no source."""
    return (
        isinstance(source, str)
        and len(source) <= 250
        and not any(letter in source for letter in "();{}\\\n")
        and any(ending in source for ending in (".c", ".opencl", ".F", ".jl"))
    )


def text_of(source, params=None) -> str:
    if callable(source):
        text = source(params)
        if not isinstance(text, str):
            raise TypeError(f"kernel_source: the function returned {type(text).__name__}, expected a text")
        return text
    if isinstance(source, Path) or is_file_name(source):
        try:
            return Path(source).read_text(encoding="utf-8")
        except OSError as error:
            raise InputError(f"kernel_source: {str(source)!r}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise InputError(f"kernel_source: {str(source)!r} is no text") from None
    if isinstance(source, str):
        return source
    raise TypeError(f"kernel_source: found {type(source).__name__}, expected a text, a file or a function")


def check_language(lang, text: str) -> None:
    """Refuses what is no CUDA C++."""
    lowered = text.lower()
    found = lang or ("CUDA" if "__global__" in lowered else "OpenCL" if "__kernel" in lowered else "C")
    if str(found).lower() not in _CUDA:
        raise UsageError(f"lang: found {found!r}, expected CUDA C++ (CUDA, CuPy, NVCUDA, PyCUDA), the only one heddle tunes")


def _evaluated(argument: str, expression: str, params):
    try:
        return evaluate(expression, params)
    except Exception as error:  # whatever Python finds wrong with it
        raise UsageError(f"{argument}: {expression!r}: {_first_line(error)}") from None


def _first_line(error) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def problem_size_at(problem_size, params) -> list:
    """The sizes in x, y and z."""
    if callable(problem_size):
        problem_size = problem_size(params)
    if isinstance(problem_size, (str, int, np.integer)):
        problem_size = (problem_size,)
    problem_size = list(problem_size)
    if len(problem_size) > 3:
        raise UsageError(f"problem_size: found {len(problem_size)} sizes, expected up to three")
    sizes = [1, 1, 1]
    for i, size in enumerate(problem_size):
        if isinstance(size, str):
            sizes[i] = int(_evaluated("problem_size", size, params))
        elif isinstance(size, (int, np.integer)):
            sizes[i] = int(size)
        else:
            raise TypeError(f"problem_size: found {type(size).__name__}, expected integers and expressions")
    return sizes


def _divisor_at(divisor, default, params):
    if divisor is None:
        return params.get(default, 1)
    if isinstance(divisor, (int, np.integer)):
        return int(divisor)
    if callable(divisor):
        return divisor(params)
    if isinstance(divisor, str):
        return int(_evaluated("grid_div", divisor, params))
    if np.iterable(divisor):
        product = 1
        for each in divisor:
            product *= _divisor_at(each, None, params)
        return product
    raise ValueError(f"grid_div: found {divisor!r}, expected integers, expressions, functions or a list")


def grid_at(problem_size, grid_div, names, params) -> tuple:
    """Blocks in x, y and z: the sizes over the divisors, rounded up."""
    sizes = problem_size_at(problem_size, params)
    divisors = [_divisor_at(divisor, name, params) for divisor, name in zip(grid_div, names)]
    for divisor, letter in zip(divisors, "xyz"):
        if divisor == 0:
            shown = ", ".join(f"{name}={value}" for name, value in params.items())
            raise UsageError(f"grid_div_{letter}: the size is divided by 0 at {shown}")
    return tuple(int(np.ceil(float(size) / float(divisor))) for size, divisor in zip(sizes, divisors))


def block_at(names, params) -> tuple:
    return tuple(int(params.get(name, default)) for name, default in zip(names, (256, 1, 1)))


def shared_bytes_at(smem_args, params) -> int:
    size = (smem_args or {}).get("size", 0)
    if callable(size):
        size = size(params)
    elif isinstance(size, str):
        size = evaluate(size, params)
    return int(size)


def plain(value):
    """A value of a parameter as Python has it."""
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, (bool, int, float, str)):
        raise UsageError(f"tune_params: found the value {value!r}, expected numbers, truth values and words")
    return value


@dataclass
class Argument:
    """One argument of the kernel, or one variable in constant memory."""

    name: str
    value: object  #: a NumPy array or scalar
    original: object = None  #: as the user passed it
    writes: bool = False
    symbol: str | None = None

    @property
    def is_array(self) -> bool:
        return isinstance(self.value, np.ndarray)


def host_array(value):
    """An array of any library as NumPy's, and numbers as they are."""
    if isinstance(value, np.generic):
        return value
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value).reshape(value.shape)
    if hasattr(value, "get") and hasattr(value, "__cuda_array_interface__"):  # CuPy
        return np.ascontiguousarray(value.get())
    if hasattr(value, "detach"):  # PyTorch
        return np.ascontiguousarray(value.detach().cpu().numpy())
    if hasattr(value, "select_for_configuration"):
        raise UsageError("arguments: found a tunable argument, expected the same types in every configuration")
    return None


def _without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)


def signature_of(name: str, text: str) -> list[tuple[str, bool]]:
    """Name and whether it can be written, of each parameter of the kernel function; empty if it was not found."""
    text = _without_comments(text)
    base = re.escape(name.split("<")[0].split("::")[-1].strip())
    for match in re.finditer(rf"\b{base}\s*\(", text):
        depth, start, parts = 1, match.end(), []
        for i in range(match.end(), len(text)):
            depth += {"(": 1, "<": 1, "[": 1, ")": -1, ">": -1, "]": -1}.get(text[i], 0)
            if depth == 0 or (depth == 1 and text[i] == ","):
                parts.append(text[start:i].strip())
                start = i + 1
            if depth == 0:
                break
        else:
            continue
        rest = text[i + 1 :].lstrip()
        if "__global__" in text[: match.start()][-400:] and rest[:1] in "{;" and all(parts):
            found = []
            for part in parts:
                words = re.findall(r"[A-Za-z_]\w*", part.split("=")[0])
                pointee = part.split("*")[0].split("[")[0]
                is_pointer = "*" in part or "[" in part
                found.append((words[-1] if words else "", is_pointer and "const" not in re.findall(r"\w+", pointee)))
            return found
    return []


def _included(text: str, folder: Path, taken: dict) -> dict:
    """The files that a source includes in quotes, and those that they include."""
    for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, flags=re.MULTILINE):
        for place in (folder, Path.cwd()):
            file = place / name
            if name not in taken and file.is_file():
                taken[name] = file.read_text(encoding="utf-8")
                _included(taken[name], file.parent, taken)
    return taken


def _compiler_options(words) -> dict:
    """What heddle has options of its own for, and the rest."""
    options: dict = {}
    extra = []
    for word in words or []:
        word = str(word)
        if word.lstrip("-") == "use_fast_math":
            options["fast_math"] = True
        elif re.match(r"--?std=", word):
            if word.split("=")[1] in ("c++17", "c++20"):
                options["standard"] = word.split("=")[1]
        elif not re.match(r"-arch|--gpu-architecture|-gencode|-O[0-3]$", word):  # those of the device at hand
            extra.append(word)
    if extra:
        options["extra"] = extra
    return options


@dataclass
class KernelSource:
    """All that Kernel Tuner's arguments say about a kernel.

    Raises
    ------
    UsageError
        Another language, texture memory, an argument that cannot be passed.
    """

    name: str
    source: object
    problem_size: object
    arguments: list
    tune_params: dict
    grid_div: tuple = (None, None, None)
    lang: str | None = None
    smem_args: dict | None = None
    cmem_args: dict | None = None
    texmem_args: dict | None = None
    compiler_options: list | None = None
    defines: dict | None = None
    block_size_names: list | None = None
    answer: list | None = None
    _taken: set = field(default_factory=set)

    def __post_init__(self):
        if self.texmem_args:
            raise UsageError("texmem_args: texture memory is not there, expected arrays in global or constant memory")
        for key in self.smem_args or {}:
            if key != "size":
                raise UsageError(f"smem_args: found {key!r}, expected 'size'")
        sources = list(self.source) if isinstance(self.source, (list, tuple)) else [self.source]
        if not sources:
            raise UsageError("kernel_source: found no source")
        self.main, self.others = sources[0], sources[1:]
        self.names = list(self.block_size_names or default_block_size_names)
        self.names += default_block_size_names[len(self.names) :]
        first = {name: plain(values[0]) for name, values in self.tune_params.items()}
        text = text_of(self.main, first)
        check_language(self.lang, text)
        self.is_made = callable(self.main)
        self.text = text
        self.arguments = self._read_arguments(text)
        self._taken = {each.name for each in self.arguments} | set(self.tune_params)

    def _read_arguments(self, text: str) -> list[Argument]:
        signature = signature_of(self.name, text)
        if len(signature) != len(self.arguments):
            signature = []
        if self.answer is not None and len(self.answer) != len(self.arguments):
            raise TypeError(f"answer: found {len(self.answer)} elements, expected {len(self.arguments)}, one for each argument")
        found: list[Argument] = []
        for i, given in enumerate(self.arguments):
            value = host_array(given)
            if value is None:
                raise TypeError(
                    f"argument {i}: found {type(given).__name__}, expected an array of NumPy, CuPy or PyTorch, or a number of NumPy"
                )
            name = signature[i][0] if signature else ""
            if not name or name in self.tune_params or any(each.name == name for each in found):
                name = f"argument_{i}"
            writes = isinstance(value, np.ndarray) and (signature[i][1] if signature else True)
            if self.answer is not None:
                writes = isinstance(value, np.ndarray) and self.answer[i] is not None
            found.append(Argument(name, value, given, writes))
        if found and not any(each.writes for each in found):
            for each in found:
                each.writes = each.is_array
        for symbol, given in (self.cmem_args or {}).items():
            value = host_array(given)
            if value is None:
                raise TypeError(f"cmem_args: {symbol!r} is {type(given).__name__}, expected an array or a number of NumPy")
            name = "constant_" + re.sub(r"\W", "_", symbol)
            found.append(Argument(name, np.atleast_1d(value), given, False, symbol))
        return found

    def _free(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def _type(self, argument: Argument) -> str | None:
        dtype = argument.value.dtype
        if not dtype.isnative:
            raise UsageError(f"argument {argument.name}: its bytes are in another order than this machine's")
        return _TYPES.get(str(dtype))

    def variants(self, configurations) -> tuple[list[str], dict] | None:
        """For sources that a function makes, and for defines of the user's own: the different texts, each with its
        defines, and the number of that of each configuration. None where one text is enough."""
        if not self.is_made and self.defines is None:
            return None
        texts: dict[str, int] = {}
        number = {}
        length = 0
        for element in configurations:
            params = dict(zip(self.tune_params, element))
            text = self._with_macros(text_of(self.main, params), params)
            if text not in texts:
                length += len(text.encode())
                if len(text.encode()) > _MOST_TEXT // 2:
                    raise UsageError(f"kernel_source: the source for {params} has more than {_MOST_TEXT >> 21} MiB")
                if length > _MOST_TEXTS:
                    raise UsageError(f"kernel_source: the sources of all configurations have more than {_MOST_TEXTS >> 20} MiB")
            number[element] = texts.setdefault(text, len(texts))
        return list(texts), number

    def _with_macros(self, text: str, params) -> str:
        lines = [f"#undef {name}" for name in (*params, "kernel_tuner", *_GRID)]
        defines = self.defines
        if defines is None:
            grid = grid_at(self.problem_size, self.grid_div, self.names, params)
            defines = dict(zip(_GRID, grid))
            defines |= dict(zip(self.names, block_at(self.names, params)))
            defines |= params
            defines["kernel_tuner"] = 1
        for name, value in defines.items():
            if not name.isidentifier():
                raise ValueError(f"defines: found {name!r}, expected a name")
            value = value(params) if callable(value) else replaced(value, params) if isinstance(value, str) else value
            value = str(value).replace("\n", "\\\n")
            if _UNROLL not in name:
                lines.append(f"#define {name} {value}")
            elif value == "0":
                text = re.sub(rf"\n\s*#pragma\s+unroll\s+{name}\b", "\n", text)
            else:
                lines.append(f"constexpr int {name} = {value};")
        return "\n".join([*lines, text])

    def _unrolled(self, text: str) -> str:
        """`#pragma unroll` of a parameter, which compilers take as a constant and not as a macro; of 0 it is left out."""
        for name, values in self.tune_params.items():
            if not all(isinstance(plain(value), int) for value in values):
                continue
            pragma = re.compile(rf"^[ \t]*#[ \t]*pragma[ \t]+unroll[ \t]+\(?{name}\)?[ \t]*$", re.MULTILINE)
            constant = f"kernel_tuner_{name}"
            text, count = pragma.subn(f"#if {name} != 0\n#pragma unroll {constant}\n#endif", text)
            if count:
                text = f"constexpr int {constant} = {name};\n{text}"
        return text

    def headers(self) -> dict[str, str]:
        folder = Path(self.main).parent if isinstance(self.main, Path) or is_file_name(self.main) else Path.cwd()
        taken = {}
        for other in self.others:
            taken[str(other)] = text_of(other)
        for text in (self.text, *list(taken.values())):
            _included(text, folder, taken)
        return taken

    def geometry(self) -> dict | None:
        """Expressions of the launch, and the sizes that they name; None where functions decide."""
        sizes = self.problem_size
        if isinstance(sizes, (str, int, np.integer)):
            sizes = (sizes,)
        if callable(sizes) or callable((self.smem_args or {}).get("size")):
            return None
        grid, axes = [], {}
        for i, (divisor, name, letter) in enumerate(zip(self.grid_div, self.names, "xyz")):
            size = sizes[i] if i < len(sizes) else 1
            if isinstance(size, str):
                over = f"int({size})"
            elif i < len(sizes):
                over = self._free(f"problem_size_{letter}")
                axes[over] = int(size)
            else:
                over = "1"
            parts = [divisor] if isinstance(divisor, str) or not np.iterable(divisor) else list(divisor)
            if divisor is None:
                parts = [name] if name in self.tune_params else []
            if any(callable(part) or not isinstance(part, (str, int, np.integer)) for part in parts):
                return None
            below = " * ".join(f"int({part})" for part in parts) or "1"
            grid.append(f"ceil_div({over}, {below})")
        block = [
            f"int({name})" if name in self.tune_params else str(default) for name, default in zip(self.names, (256, 1, 1))
        ]
        return {"grid": grid, "block": block, "shared": str((self.smem_args or {}).get("size", 0)), "axes": axes}

    def description(self, folder: Path, first, configurations, use_expressions: bool):
        """Writes the description and its sources; returns what a bench needs to know.

        Parameters
        ----------
        folder : Path
            Where the files go.
        first : tuple
            The configuration that runs where nothing else is known.
        configurations : list of tuple or None
            All that are going to be asked for; None: too many to be listed, which needs expressions and one text.
        use_expressions : bool
            Whether the launch is described by expressions, so that profiles hold at other sizes too. Otherwise each
            configuration has the numbers of its own launch.
        """
        self._taken = {each.name for each in self.arguments} | set(self.tune_params)
        geometry = self.geometry() if use_expressions else None
        if configurations is None and (geometry is None or self.is_made or self.defines is not None):
            raise UsageError(
                "functions that decide the launch or make the source are asked about every configuration; expected at most "
                "200000 of them, or expressions"
            )
        parameters = [
            {"name": name, "values": list(dict.fromkeys(plain(value) for value in values))}
            for name, values in self.tune_params.items()
        ]
        hidden = _Hidden(self, configurations, geometry)
        parameters += hidden.parameters
        axes = dict(geometry["axes"]) if geometry else {}
        arguments, numbers, contents = [], {}, {}
        for each in self.arguments:
            entry = {"name": each.name}
            kind = self._type(each)
            if each.is_array:
                array = each.value
                if kind is None:  # structs, by their bytes
                    array = np.frombuffer(array.tobytes(), dtype=np.uint8)
                    kind = "uint8"
                axis = self._free(f"{each.name}_elements")
                axes[axis] = int(array.size)
                entry |= {"type": kind, "elements": axis, "role": "inout" if each.writes else "input"}
                if each.symbol:
                    entry["constant"] = each.symbol
                contents[each.name] = array.reshape(-1).view(np.uint8)
            elif kind is None or kind in ("float2", "double2"):
                alignment = min(16, max(1, each.value.dtype.alignment))
                entry |= {"type": "struct", "bytes": "00" * each.value.dtype.itemsize, "alignment": alignment}
                numbers[each.name] = each.value.tobytes()
            else:
                entry |= {"type": kind, "value": 0}
                numbers[each.name] = each.value.tobytes()
            arguments.append(entry)
        document = {
            "name": re.sub(r"[^A-Za-z0-9_./-]", "_", self.name.split("<")[0].strip())[:48] or "kernel",
            "source": "kernel.cu",
            "kernel": self._kernel(),
            "axes": [
                {"name": name, "maximum": 1 << 44, "zero": True} for name in axes
            ],
            "parameters": parameters,
            "grid": hidden.grid or geometry["grid"],
            "block": hidden.block or geometry["block"],
            "shared_bytes": hidden.shared or geometry["shared"],
            "arguments": arguments,
        }
        macros = {"kernel_tuner": "1"}
        if hidden.texts is None:
            for i, letter in enumerate("xyz"):
                macros[f"grid_size_{letter}"] = document["grid"][i]
                macros[self.names[i]] = document["block"][i]
        else:
            macros = {}
        macros = {name: text for name, text in macros.items() if not any(each["name"] == name for each in parameters)}
        if macros:
            document["macros"] = macros
        if options := _compiler_options(self.compiler_options):
            document["options"] = options
        text = self._unrolled(self.text)
        headers = self.headers()
        if hidden.texts is not None:
            text, parts = _shared_out(hidden.texts, hidden.variant)
            headers |= parts
        if headers:
            document["headers"] = list(headers)
        for name, content in {"kernel.cu": text, **headers}.items():
            file = folder / name
            if not file.resolve().is_relative_to(folder.resolve()):
                raise UsageError(f"kernel_source: {name!r} is outside the folder of the kernel")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        if not axes:
            axes = {"calls": 1}
            document["axes"] = ["calls"]
        known = dict(hidden.entries(first))
        for parameter in parameters:
            parameter["default"] = known[parameter["name"]]
        file = folder / "description.json"
        file.write_text(json.dumps(document), encoding="utf-8")
        return file, axes, numbers, contents, hidden.entries

    def _kernel(self) -> str:
        """A function's name, or a template in whose arguments parameters stand for their values."""
        if "<" not in self.name:
            return self.name.strip()
        base, arguments = self.name.split("<", 1)
        return base.strip() + "<" + "".join(
            f"{{{part}}}" if part in self.tune_params else part for part in _WORD.split(arguments)
        )


def _shared_out(texts: list[str], variant: str) -> tuple[str, dict[str, str]]:
    """A source that has the text whose number a macro is; where they are long, its compiler reads few of the others."""
    parts: list[dict[int, str]] = [{}]
    limit = max(1 << 16, 2 * sum(map(len, texts)) // _MOST_PARTS)
    for i, text in enumerate(texts):
        if parts[-1] and sum(map(len, parts[-1].values())) + len(text) > limit:
            parts.append({})
        parts[-1][i] = text

    def chosen(of: dict[str, str]) -> str:
        return "".join(f"{'#elif' if i else '#if'} {key}\n{text}\n" for i, (key, text) in enumerate(of.items())) + "#endif\n"

    sources = [chosen({f"{variant} == {i}": text for i, text in part.items()}) for part in parts]
    if len(sources) == 1:
        return sources[0], {}
    headers = {f"{variant}_{min(part)}.cuh": source for part, source in zip(parts, sources)}
    return chosen({f"{variant} <= {max(part)}": f'#include "{name}"' for part, name in zip(parts, headers)}), headers


class _Hidden:
    """Parameters that no user named: the numbers of a launch, and the number of a text, where functions decide them."""

    def __init__(self, kernel: KernelSource, configurations, geometry):
        self.parameters: list[dict] = []
        self.grid = self.block = self.shared = self.texts = self.variant = None
        names = list(kernel.tune_params)
        columns: dict[str, dict] = {}
        if configurations is not None and geometry is None:
            launches = {}
            for element in configurations:
                params = dict(zip(names, element))
                grid = grid_at(kernel.problem_size, kernel.grid_div, kernel.names, params)
                block = block_at(kernel.names, params)
                launches[element] = (*grid, *block, shared_bytes_at(kernel.smem_args, params))
            columns |= {
                column: {element: launch[i] for element, launch in launches.items()}
                for i, column in enumerate(
                    [*_GRID, *_HIDDEN]
                )
            }
        found = kernel.variants(configurations) if configurations is not None else None
        if found is not None:
            self.texts, number = found
            columns[_VARIANT] = number
        self._columns = []
        for wanted, values in columns.items():
            name = wanted if wanted not in kernel.tune_params else kernel._free(wanted)
            self._columns.append((name, values))
            self.parameters.append({"name": name, "values": sorted(set(values.values()))})
        named = [name for name, _ in self._columns]
        if geometry is None:
            self.grid, self.block, self.shared = named[0:3], named[3:6], named[6]
        if self.texts is not None:
            self.variant = named[-1]
        self._names = names

    def entries(self, element) -> list:
        """A configuration as the bench takes it."""
        own = [(name, plain(value)) for name, value in zip(self._names, element)]
        return own + [(name, values[element]) for name, values in self._columns]
