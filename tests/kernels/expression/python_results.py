#!/usr/bin/env python3
"""Writes python_results.json beside this file: expressions, and what Python makes of them.

    python3 python_results.py

Each entry is [expression, result]. A result is an integer, a real, a truth value, a text, or a list of results. The
result is null where Python raises an exception, or where an integer does not fit into 64 bits. Infinite reals and NaN
are {"real": "inf"}. The test expression_table_test.cpp reads the table. Python 3.12 and later add up reals in another way;
no sum here depends on that.
"""
import json
import math
import pathlib

NAMES = {"n": 1000, "zero": 0, "block": 128, "x": 0.5, "on": True, "scheme": "tiled", "empty": ""}


def ceil_div(a, b):
    return -(-a // b)


def round_up(a, b):
    return ceil_div(a, b) * b


FUNCTIONS = {
    "abs": abs, "bool": bool, "float": float, "int": int, "len": len, "list": list, "max": max, "min": min,
    "range": range, "sum": sum, "ceil_div": ceil_div, "round_up": round_up,
}

NUMBERS = ["7", "-7", "2", "-3", "0", "0.5", "-2.5", "7.0", "True"]
SIGNS = ["+", "-", "*", "/", "//", "%", "**", "<", "<=", "==", "!=", ">", ">="]

WRITTEN = """
1 + 2 * 3
(1 + 2) * 3
10 - 4 - 3
100 // 7 // 2
100 / 7 / 2
2 ** 3 ** 2
-2 ** 2
(-2) ** 2
2 ** -1
2 ** -2 ** 2
-3 ** -1
0 ** 0
0.0 ** 0
0 ** -1
0.0 ** -2
(-8) ** 2
(-8) ** -1
2.0 ** 0.5
10.0 ** 400
2 ** 62
2 ** 63
(-2) ** 63
(-2) ** 64
3 ** 39
3 ** 40
1 ** 9223372036854775807
(-1) ** 9223372036854775807
9223372036854775807
-9223372036854775808
9223372036854775808
- 9223372036854775808 - 1
-9223372036854775808 // -1
-9223372036854775808 % -1
-9223372036854775808 // 1
-(-9223372036854775807 - 1)
abs(-9223372036854775808)
9223372036854775807 + 1
9223372036854775807 * 2
9223372036854775807 - -1
9223372036854775807 / 3
9223372036854775807 / 9223372036854775806
-9223372036854775808 / 9223372036854775807
9007199254740993 / 1
9007199254740993 / 3
9007199254740995 / 7
-9007199254740993 / 1024
1 / 9223372036854775807
9007199254740993 == 9007199254740992.0
9007199254740993 > 9007199254740992.0
9007199254740993 < 9007199254740994.0
9223372036854775807 < 9223372036854775808.0
9223372036854775807 == 9223372036854775808.0
-9223372036854775808 == -9223372036854775808.0
-9223372036854775808 <= -9223372036854775809.0
1 < 1e308 * 10
-1 > -1e308 * 10
1e308 * 10 == 1e308 * 10
1e308 * 10 - 1e308 * 10 == 0
1e308 * 10
1 < (1e308 * 10 - 1e308 * 10)
1 != (1e308 * 10 - 1e308 * 10)
int(1e308 * 10)
int(1e308 * 10 - 1e308 * 10)
bool(1e308 * 10 - 1e308 * 10)
5 % 1e308
-5 % (1e308 * 10)
5 // (1e308 * 10)
-5 // (1e308 * 10)
-0.0
0.0 == -0.0
-0.0 // 1
0 % -3.0
6.0 % -3
-6.0 % 3
5.3 // 0.1
1.0 // 0.1
1.0 % 0.1
-1.0 % 0.1
7.5 // -2
7.5 % -2
7 // 0
7 % 0
7 / 0
7.0 // 0
7.0 % 0.0
7.0 / zero
- - 3
-+-3
+True
-True
not not 3
True + True
True * 3.5
True / 2
True // True
True ** 2
False ** -1
1 == True
0 == False
2 == True
1.0 == True
32 <= 0 <= 1024
32 <= 64 <= 1024
1 < 2 < 3 < 3
1 < 2 > 1 != 0
3 > 2 == 2
1 == 1.0 == True
2 < 3 == True
(2 < 3) == True
1 < 2 in [2, 3]
1 in [1] == True
0 < zero < 1 // zero
1 if n > 10 else 2
1 if 0 else 2 if 0 else 3
n if on else 1 // zero
1 // zero if not on else n
(1 if on else 2) + 1
1 if on else 2 + 1
1 or 1 // zero
0 and 1 // zero
0 or 0.0 or ''
0 or 'a' or 1
3 and 4
3 and 0.0 and 5
'' and 1
[] or [0]
[0] and 7
not 0 or 1
not (0 or 1)
not 1 == 2
not 1 in [2]
1 not in [2]
not 1 not in [1]
on and n
zero or n
n and zero
on and not zero
n % block == 0
n % 8 == 0 and block in [64, 128]
block in [32, 64] or scheme == 'tiled'
scheme == "tiled"
scheme != 'flat'
scheme in ['flat', 'tiled']
'til' in scheme
'' in scheme
'x' in scheme
'tiled' in ''
1 in scheme
scheme[0]
scheme[-1]
scheme[5]
scheme[-5]
scheme[-6]
scheme + '_' + 'a'
scheme * 2
2 * scheme
scheme * 0
scheme * -3
scheme + 1
scheme - 'a'
scheme < 'tiles'
'a' < 'b' <= 'b'
'Z' < 'a'
'a' < 1
'a' == 1
'a' != 1
'ab' > 'a'
'' < 'a'
len(scheme)
len('é')
'aé'[1]
'é' < 'z'
'"'
"'"
'\\''
"\\"\\\\"
'a\\nb'
len('a\\tb')
len('')
bool('')
bool('0')
bool([])
bool([0])
bool(range(0))
bool(0.0)
bool(-1)
[1, 2, 3]
[1, 2, 3,]
[]
[[1, 2], [3]]
[1, 'a', 2.5, True, []]
[1, 2][0]
[1, 2][-1]
[1, 2][2]
[1, 2][-3]
[1, 2][True]
[1, 2][0.0]
[1, 2]['a']
[[1, 2], [3]][0][1]
[1, 2] + [3]
[1, 2] + 3
[1, 2] * 2
2 * [1, 2]
[1] * 0
[1] * -1
[1] * 1.0
[1] * [2]
[1, 2] == [1, 2]
[1, 2] == [1, 2.0]
[1, 2] == [2, 1]
[1] != [1, 2]
[1, 2] < [1, 3]
[1, 2] < [1]
[1] < [1, 2]
[] < [1]
[1, 'a'] < [2, 1]
[1, 'a'] < [1, 1]
[1, 2] >= [1, 2]
[1] == 1
[1] < 1
[[1], [2]] < [[1], [3]]
1 in [1, 2]
1.0 in [1, 2]
True in [1, 2]
'1' in [1, 2]
[1] in [[1], [2]]
3 not in [1, 2]
1 in 5
5[0]
5(3)
len(5)
len([1, 2])
len([[1, 2]])
len(range(10))
len(range(5, 1))
len(range(0, 10, 3))
len(range(10, 0, -3))
list(range(5))
list(range(2, 5))
list(range(5, 2))
list(range(0, 10, 3))
list(range(10, 0, -3))
list(range(0, -10, 4))
list(range(True))
list(range(1, 2, 0))
list(range(1.0))
list('abc')
list([1, 2])
list(5)
range(5)[1]
range(5)[-1]
range(5)[5]
range(10, 0, -3)[3]
3 in range(5)
5 in range(5)
3.0 in range(5)
3.5 in range(5)
4 in range(0, 10, 3)
9 in range(0, 10, 3)
1 in range(10, 0, -3)
2 in range(10, 0, -3)
'a' in range(3)
999999999999 in range(1000000000000)
-1 in range(5)
4000000000000000000 in range(-4000000000000000000, 5000000000000000000, 8000000000000000000)
4000000000000000001 in range(-4000000000000000000, 5000000000000000000, 8000000000000000000)
range(3) == range(3)
range(3) == range(0, 3, 1)
range(0) == range(2, 1)
range(1) == range(0, 1, 5)
range(0, 4, 3) == range(0, 5, 3)
range(3) == [0, 1, 2]
range(3) < range(4)
range(3) + [1]
max(1, 2)
max(2, 1.0, 3)
max(1, 1.0)
max(1.0, 1)
min(1, 1.0)
min(1.0, 1)
min(True, 1)
max([3, 5, 4])
min([3, 5, 4])
max(range(5))
min('hello')
max('a', 'b')
max([])
min(3)
max(1, 'a')
max([1, 2], [1, 3])
min([[2], [1, 5]])
max(x, 1)
min(n, block, 3)
abs(-3)
abs(-3.5)
abs(True)
abs('a')
abs(-0.0)
int(3.9)
int(-3.9)
int(True)
int(5)
int(1e19)
int(9223372036854774784.0)
int(-9223372036854775808.0)
int(9223372036854775808.0)
int([])
float(3)
float(True)
float(2.5)
float([])
float(9007199254740993)
sum([1, 2, 3])
sum([1, 2.5])
sum([])
sum([], 5)
sum([1, 2], 10)
sum([[1], [2]], [])
sum([[1], [2]])
sum(['a'])
sum(['a'], '')
sum(range(101))
sum([True, True])
sum(5)
sum([0.5] * 4)
[i for i in range(5)]
[i * i for i in range(5) if i % 2]
[i for i in range(20) if i % 2 == 0 if i % 3 == 0]
[2 ** i for i in range(5, 11)]
[b for b in [32, 64, 96, 128] if n % b == 0]
[i for i in 'abc']
[i for i in 5]
[n for n in range(3)] + [n]
[[j for j in range(i)] for i in range(3)]
[i for i in [i for i in range(3)]]
[1 if i else 2 for i in range(3)]
[i for i in (range(3) if on else [])]
[i for i in range(3) or [7]]
[i if i > 1 else -i for i in range(4) if i != 2]
sum(i * i for i in range(10))
max(i % 7 for i in range(20))
min(abs(i) for i in range(-3, 5))
list(i + 1 for i in range(3))
len([i for i in range(100) if i % 10 == 3])
sum([i for i in range(5)], 1)
[i for i in range(3)][-1]
1 in [i for i in range(3)]
[zero for zero in [1, 2]]
[1 // i for i in range(2)]
[i for i in range(0) if 1 // 0]
ceil_div(n, 64)
ceil_div(1024, 64)
ceil_div(-7, 2)
ceil_div(7, -2)
ceil_div(0, 5)
ceil_div(5, 0)
round_up(n, 64)
round_up(0, 64)
round_up(-1, 64)
(n + block - 1) // block
(n + block - 1) // block * block
block * 4 <= 1024 and n >= block
x * 2
x ** 2
x + 1
n * x
n // 3
n % 7
-n // 7
-n % 7
n / 8
1_000_000
0x10
0XfF
0b101
0o17
0x7fffffffffffffff
0x8000000000000000
00
007
0_0
1.
.5
1e3
1E-3
1e+2
1_0.5_0
1.5e0_1
0.1 + 0.2
1e-7
123456789.0 * 10
1e22
1e16
1e15 + 0.5
3 if
if 3
1 +
1 2
()
(1
1)
[1
1 <
< 1
not
in [1]
1 in
1 not [1]
a
missing + 1
'abc
"abc'
1.2.3
1__0
1_
0x
0b2
08
1 = 1
1 && 1
n ? 1 : 2
!on
lambda: 1
len()
len(1, 2)
range()
range(1, 2, 3, 4)
sqrt(4)
"""


def encoded(result):
    """Raises OverflowError for what does not fit into 64 bits."""
    if isinstance(result, bool) or isinstance(result, str):
        return result
    if isinstance(result, int):
        if not -2**63 <= result < 2**63:
            raise OverflowError
        return result
    if isinstance(result, float):
        return result if math.isfinite(result) else {"real": str(result)}
    if isinstance(result, list):
        return [encoded(each) for each in result]
    raise TypeError


def entry(expression):
    try:
        return [expression, encoded(eval(expression, {"__builtins__": {}, **FUNCTIONS, **NAMES}))]
    except Exception:  # whatever Python refuses, heddle has to refuse
        return [expression, None]


def main():
    expressions = [line.replace("\\\\", "\\") for line in WRITTEN.strip().split("\n")]
    expressions += [f"{a} {sign} {b}" for sign in SIGNS for a in NUMBERS for b in NUMBERS]
    table = [entry(expression) for expression in dict.fromkeys(expressions)]
    lines = ",\n".join(json.dumps(each) for each in table)
    pathlib.Path(__file__).with_suffix(".json").write_text(f"[\n{lines}\n]\n")


main()
