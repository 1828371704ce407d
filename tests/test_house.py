"""The house rules: public names are pinned, and imports point one way."""

import ast
from pathlib import Path

import faceveil

SOURCE = Path(faceveil.__file__).parent
# A room may import from itself and from the rooms named here.
ALLOWED = {
    "errors": set(),
    "show": {"photos"},
    "photos": {"errors"},
    "models": {"errors"},
    "faces": {"errors", "photos", "models"},
    "grouping": {"errors", "show"},
    "spaces": {"errors", "photos", "models", "faces"},
    "privacy": {"errors", "show", "grouping", "faces", "models", "photos"},
    "methods": {"errors", "photos", "models", "faces", "spaces", "grouping", "privacy"},
    "evaluation": {"errors", "show", "photos", "models", "faces", "spaces", "grouping", "privacy"},
    "pipeline": {"errors", "show", "photos", "models", "faces", "spaces", "grouping", "privacy", "methods"},
    "report": {"errors", "photos", "models", "faces", "grouping", "privacy", "evaluation", "pipeline"},
}


def rooms_imported_by(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [
                f"{node.module}.{alias.name}" if node.module == "faceveil" else node.module
                for alias in node.names
            ]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    parts = [name.split(".") for name in names]
    return {part[1] for part in parts if part[0] == "faceveil" and len(part) > 1}


def test_imports_point_one_way():
    wrong = []
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room in ALLOWED:
            foreign = rooms_imported_by(path) - ALLOWED[room] - {room, "__version__"}
            wrong += [f"{path.relative_to(SOURCE)} imports {name}" for name in sorted(foreign)]
    assert wrong == []


def test_every_room_is_known():
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert rooms - set(ALLOWED) <= {"api", "cli", "web"}


def test_openvino_is_imported_only_where_its_telemetry_is_blocked():
    for path in set(SOURCE.rglob("*.py")) - {SOURCE / "models" / "runtime.py"}:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                assert not ast.unparse(node).startswith(("import openvino", "from openvino")), path


def test_public_names_are_pinned():
    assert sorted(faceveil.__all__) == [
        "AnonymizedImage", "Attributes", "Encoded", "Face", "Faces", "FaceveilError", "GeneratedFaces", "Photo",
        "ProtectionError", "Settings", "Summary", "__version__", "anonymize", "anonymize_image", "attributes",
        "certify", "encode", "evaluate", "find_faces", "generate", "group", "method", "read_photo", "verify",
        "write_photo",
    ]  # fmt: skip
    for name in faceveil.__all__:
        assert getattr(faceveil, name) is not None


def test_importing_the_package_costs_nothing():
    import subprocess
    import sys

    code = "import sys; before = {*sys.modules}; import faceveil; print(*{*sys.modules} - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {name.partition(".")[0] for name in done.stdout.split()} <= {"faceveil", *sys.stdlib_module_names}
    assert not [name for name in done.stdout.split() if name.startswith("faceveil.")]


def test_the_names_that_type_checkers_see_are_those_that_there_are():
    tree = ast.parse(Path(faceveil.__file__).read_text(encoding="utf-8"))
    seen = {
        alias.asname: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    assert seen == faceveil._HOMES


def test_the_registry_names_every_method_of_its_modules():
    from importlib import import_module

    from faceveil.methods import HOMES, METHODS

    for home, names in HOMES.items():
        module, _, table = home.partition(":")
        found = getattr(import_module(f"faceveil.methods.{module}"), table)
        assert tuple(found if isinstance(found, dict) else [found.id]) == names
    assert [entry.id for entry in METHODS.values()] == list(METHODS)


def test_a_filter_brings_no_other_method_along():
    import subprocess
    import sys

    code = (
        "import sys; from faceveil import Settings, method; "
        "Settings(method=method('blackout')); print(*sys.modules)"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "faceveil.methods.filters" in loaded
    assert not {"numba", "scipy", "sklearn", "openvino", "torch", "faceveil.methods.styleid"} & set(loaded)
