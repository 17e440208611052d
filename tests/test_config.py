"""`[tool.kdacheck]` and `--config`."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("project")


def test_select_and_ignore(kdacheck, write, wrong):
    write("model.py", wrong)
    write("pyproject.toml", '[tool.kdacheck]\nselect = ["KDA1"]\n')
    assert kdacheck().status == 0
    write("pyproject.toml", '[tool.kdacheck]\nignore = ["unflattened-batch"]\n')
    assert kdacheck().status == 0
    write("pyproject.toml", '[tool.kdacheck]\nselect = ["KDA001"]\nignore = ["KDA0"]\n')
    assert kdacheck().status == 1, "the longer one wins"


def test_the_command_line_speaks_over_the_file(kdacheck, write, wrong):
    write("model.py", wrong)
    write("pyproject.toml", '[tool.kdacheck]\nignore = ["KDA001"]\nexclude = ["model.py"]\n')
    assert kdacheck("model.py").status == 0
    assert kdacheck("--select", "KDA0", "model.py").status == 1
    assert kdacheck("--extend-select", "KDA001", "model.py").status == 1
    assert kdacheck("--select", "KDA0", "--exclude", "x").status == 1
    write("pyproject.toml", '[tool.kdacheck]\nselect = ["KDA001"]\n')
    assert kdacheck("--ignore", "KDA0").status == 0
    assert kdacheck("--isolated", "--select", "ALL").status == 1


def test_per_file_ignores(kdacheck, write, wrong):
    for name in ("tests/a.py", "tests/deep/b.py", "src/c.py"):
        write(name, wrong)
    write("pyproject.toml", '[tool.kdacheck.per-file-ignores]\n"tests/*" = ["KDA001"]\n')
    ran = kdacheck("--output-format", "concise")
    assert ran.status == 1
    assert "c.py" in ran.out
    assert "a.py" not in ran.out
    assert "b.py" not in ran.out
    write("pyproject.toml", '[tool.kdacheck]\nper-file-ignores = { "*.py" = ["KDA0"] }\n')
    assert kdacheck().status == 0
    assert kdacheck("--per-file-ignores", "tests/:KDA0").status == 1


def test_each_folder_has_its_nearest_file(kdacheck, write, wrong):
    for name in ("a/model.py", "b/inner/model.py", "b/model.py"):
        write(name, wrong)
    write("pyproject.toml", '[tool.kdacheck]\nignore = ["KDA001"]\n')
    write("b/pyproject.toml", "[tool.kdacheck]\n")
    write("a/pyproject.toml", '[project]\nname = "a"\n')
    expected = ["b/inner/model.py", "b/model.py"]
    for arguments in ([], ["a", "b"], ["a/model.py", "b/model.py", "b/inner/model.py"]):
        ran = kdacheck("--quiet", "--output-format", "concise", *arguments)
        lines = ran.out.splitlines()
        assert [line.split(":")[0] for line in lines] == expected


def test_patterns_start_at_the_file_that_holds_them(kdacheck, write, wrong, monkeypatch):
    write("lib/gen/model.py", wrong)
    write("pyproject.toml", '[tool.kdacheck]\nexclude = ["/lib/gen"]\n')
    assert kdacheck().status == 0
    monkeypatch.chdir("lib")
    assert kdacheck().status == 0
    write("pyproject.toml", '[tool.kdacheck]\nexclude = ["/lib"]\n')
    assert kdacheck().status == 1


def test_versions_reach_the_contracts(kdacheck, write):
    write(
        "model.py",
        "from fla.ops.kda import chunk_kda\n"
        "def run(q, k, v, g, beta, cu):\n"
        "    return chunk_kda(q, k, v, g, beta, cu_seqlen=cu)\n",
    )
    write("pyproject.toml", '[tool.kdacheck.versions]\nfla-core = "0.5.2"\n')
    ran = kdacheck()
    assert ran.status == 1
    assert "0.5.2" in ran.out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('selects = ["KDA001"]', ["`tool.kdacheck.selects`", "did you mean `select`?"]),
        ("frobnicate = 1", ["`tool.kdacheck.frobnicate`", "known: extend, select"]),
        ('select = "KDA001"', ["`tool.kdacheck.select`", "an array of strings, not a string"]),
        ("ignore = [1]", ["`tool.kdacheck.ignore`", "holds an integer"]),
        ('ignore = ["KDA777"]', ["`tool.kdacheck.ignore`", "there is no rule `KDA777`"]),
        ("exclude = true", ["`tool.kdacheck.exclude`", "not a boolean"]),
        ("respect-gitignore = 1", ["`tool.kdacheck.respect-gitignore`", "true or false"]),
        ("versions = [1.0]", ["`tool.kdacheck.versions`", "not an array"]),
        ("versions.fla-core = 0.6", ["`tool.kdacheck.versions`.fla-core", "not a float"]),
        ('versions.fla_core = "0.6.0"', ["`fla_core`", "did you mean `fla-core`?"]),
        ('versions.numpy-quaternion = "1"', ["`numpy-quaternion`", "known: "]),
        ('versions.fla-core = ">=0.6"', ["`tool.kdacheck.versions`.fla-core", "one version"]),
        ("per-file-ignores = 1979-05-27", ["`tool.kdacheck.per-file-ignores`", "a date or time"]),
        ('per-file-ignores."*.py" = "KDA0"', ['per-file-ignores`."*.py"', "not a string"]),
    ],
)
def test_a_wrong_key_or_type_is_named(kdacheck, write, wrong, text, words):
    write("model.py", wrong)
    write("pyproject.toml", f"[tool.kdacheck]\n{text}\n")
    ran = kdacheck()
    assert ran.status == 2
    assert ran.out == ""
    for word in ["pyproject.toml", *words]:
        assert word in ran.err


def test_what_is_no_table_or_no_toml(kdacheck, write, wrong):
    write("model.py", wrong)
    write("pyproject.toml", "[tool]\nkdacheck = 1\n")
    assert "`tool.kdacheck` must be a table, not an integer" in kdacheck().err
    write("pyproject.toml", "[tool.kdacheck\n")
    ran = kdacheck()
    assert ran.status == 2
    assert "pyproject.toml: not valid TOML" in ran.err
    write("pyproject.toml", "[tool.other\n")
    assert kdacheck().status == 1, "a broken file that does not speak of kdacheck is left alone"


def test_a_file_given_by_name(kdacheck, write, wrong):
    write("model.py", wrong)
    write("pyproject.toml", '[tool.kdacheck]\nselect = ["KDA001"]\n')
    write("other/kda.toml", 'ignore = ["KDA0"]\n')
    assert kdacheck("--config", "other/kda.toml").status == 0
    write("other/pyproject.toml", '[tool.kdacheck]\nexclude = ["/model.py"]\n')
    assert kdacheck("--config", "other/pyproject.toml").status == 0
    write("other/pyproject.toml", "")
    assert "there is no [tool.kdacheck] table" in kdacheck("--config", "other/pyproject.toml").err
    write("other/kda.toml", "[tool.kdacheck]\n")
    assert "unknown key `tool`" in kdacheck("--config", "other/kda.toml").err


def test_extend_select_in_the_file(kdacheck, write, wrong):
    write("model.py", wrong)
    write("pyproject.toml", '[tool.kdacheck]\nselect = ["KDA1"]\nextend-select = ["KDA001"]\n')
    assert kdacheck().status == 1


def test_a_pattern_that_means_all_other_files(kdacheck, write, wrong):
    for name in ("src/a.py", "tests/b.py", "c.py"):
        write(name, wrong)
    write("pyproject.toml", '[tool.kdacheck.per-file-ignores]\n"!src/" = ["KDA001"]\n')
    ran = kdacheck("--quiet", "--output-format", "concise")
    assert [line.partition(":")[0].replace("\\", "/") for line in ran.out.splitlines()] == [
        "src/a.py"
    ]


def test_extended_per_file_ignores(kdacheck, write, wrong):
    write("a.py", wrong)
    write("b.py", wrong)
    write(
        "pyproject.toml",
        '[tool.kdacheck]\nper-file-ignores = { "a.py" = ["KDA001"] }\n'
        'extend-per-file-ignores = { "b.py" = ["KDA001"] }\n',
    )
    assert kdacheck().status == 0
    assert kdacheck("--per-file-ignores", "b.py:KDA001").out.count("KDA001") == 1, "in its place"
    write("pyproject.toml", '[tool.kdacheck]\nper-file-ignores = { "a.py" = ["KDA001"] }\n')
    assert kdacheck("--extend-per-file-ignores", "b.py:KDA001").status == 0


def test_extend(kdacheck, write, wrong):
    write("sub/model.py", wrong)
    write("pyproject.toml", '[tool.kdacheck]\nignore = ["KDA001"]\n')
    write("sub/pyproject.toml", "[tool.kdacheck]\n")
    assert kdacheck("sub").status == 1, "without it the nearest file counts alone"
    write("sub/pyproject.toml", '[tool.kdacheck]\nextend = "../pyproject.toml"\n')
    assert kdacheck("sub").status == 0
    assert kdacheck().status == 0
    write(
        "sub/pyproject.toml",
        '[tool.kdacheck]\nextend = "../pyproject.toml"\nextend-select = ["KDA001"]\n',
    )
    assert kdacheck("sub").status == 1, "the nearer file speaks over the other"
    write("sub/pyproject.toml", '[tool.kdacheck]\nextend = "../kda.toml"\n')
    write("kda.toml", 'extend = "pyproject.toml"\n')
    assert kdacheck("sub").status == 0, "through a file of another name"
    assert kdacheck("--config", "kda.toml").status == 0


def test_what_is_added_and_what_is_replaced(kdacheck, write, wrong):
    for name in ("sub/a.py", "sub/b.py", "sub/c.py"):
        write(name, wrong)
    write(
        "pyproject.toml",
        '[tool.kdacheck]\nexclude = ["a.py"]\nextend-exclude = ["b.py"]\n'
        '[tool.kdacheck.versions]\nfla-core = "0.5.1"\nsglang = "0.5.20"\n',
    )
    write(
        "sub/pyproject.toml",
        '[tool.kdacheck]\nextend = "../pyproject.toml"\nexclude = ["c.py"]\n'
        '[tool.kdacheck.versions]\nfla-core = "0.6.0"\n',
    )
    assert kdacheck("sub", "--show-files").out.replace("\\", "/") == "sub/a.py\n"
    ran = kdacheck("--show-settings", "sub")
    assert "release: fla-core 0.6.0" in ran.out
    assert "release: sglang 0.5.20" in ran.out


def test_patterns_of_an_extended_file_start_at_that_file(kdacheck, write, wrong):
    for name in ("sub/gen/a.py", "sub/b.py", "gen/c.py"):
        write(name, wrong)
    write(
        "pyproject.toml",
        '[tool.kdacheck]\nexclude = ["/sub/gen"]\n'
        '[tool.kdacheck.per-file-ignores]\n"/sub/b.py" = ["KDA001"]\n',
    )
    write("sub/pyproject.toml", '[tool.kdacheck]\nextend = "../pyproject.toml"\n')
    assert kdacheck("sub", "--show-files").out.replace("\\", "/") == "sub/b.py\n"
    assert kdacheck("sub").status == 0
    write("shared/kda.toml", 'exclude = ["/gen"]\n')
    write("sub/pyproject.toml", '[tool.kdacheck]\nextend = "../shared/kda.toml"\n')
    ran = kdacheck("sub", "--show-files")
    assert ran.out.replace("\\", "/") == "sub/b.py\n", "one beside lends its patterns"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"pyproject.toml": 'extend = "gone.toml"'}, ["pyproject.toml: `extend`: ", "gone.toml"]),
        ({"pyproject.toml": 'extend = "pyproject.toml"'}, ["`extend` leads back to"]),
        (
            {"pyproject.toml": 'extend = "a.toml"', "a.toml": 'extend = "pyproject.toml"'},
            ["a.toml: `extend` leads back to"],
        ),
        ({"pyproject.toml": 'extend = "a.toml"', "a.toml": "x = 1"}, ["unknown key `x`"]),
        ({"pyproject.toml": 'extend = "a.toml"', "a.toml": "x"}, ["a.toml: not valid TOML"]),
        ({"pyproject.toml": "extend = 1"}, ["`tool.kdacheck.extend` must be a path"]),
        ({"pyproject.toml": 'extend = ""'}, ["not an empty string"]),
        ({"pyproject.toml": 'extend = "."'}, ["Is a directory"]),
        ({"pyproject.toml": "baseline = []"}, ["`tool.kdacheck.baseline` must be a path"]),
    ],
)
def test_a_file_that_cannot_be_extended(kdacheck, write, wrong, files, words):
    write("model.py", wrong)
    for name, text in files.items():
        head = "[tool.kdacheck]\n" if name == "pyproject.toml" else ""
        write(name, f"{head}{text}\n")
    ran = kdacheck()
    assert ran.status == 2
    assert ran.out == ""
    for word in words:
        assert word in ran.err
