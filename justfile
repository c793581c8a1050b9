# Show what there is.
default:
    @just --list

# Lint, and the tests that tell most in the least time.
test *args:
    tox {{args}}

# What a change must pass.
ci:
    tox
    tox -m ci

# Read only: says what is wrong and changes nothing.
verify:
    tox -e lint,type,proto

# Writes: formats, sorts imports, applies safe fixes.
fix:
    ruff check --fix
    ruff format

# Writes: regenerates the protobuf code (needs the extra `dev`).
protos:
    quorate plugin protos core
    python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. tests/support/*/v1/*.proto

# Runs the tests of the documentation, whatever their marks.
docs:
    tox -e quick -- tests/docs
