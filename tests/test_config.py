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
