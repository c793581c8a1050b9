# Show what there is.
default:
    @just --list

# What a change must pass.
test *args:
    tox {{args}}

# The unit tests, lint and types.
quick:
    tox -m quick

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

# Builds the documentation and runs its tests.
docs:
    tox -e docs
