#!/bin/sh
# Writes the Go code of all services below gen/. DIR is what `quorate protos export DIR` has written:
#     sh generate.sh DIR
set -eu
here=$(cd "$(dirname "$0")" && pwd)
protos=$(cd "$1" && pwd)
cd "$here"
export GOBIN="$here/bin"
go install google.golang.org/protobuf/cmd/protoc-gen-go # the version of go.mod
go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.5.1
mkdir -p gen
cd "$protos"
# Go brings the code of google.rpc; the other files do not name a Go package, so options `M` do.
files=$(find . -name '*.proto' ! -path './google/*' | sed 's|^\./||')
set --
for file in $files; do
    package="example.com/broker/gen/${file%/*}"
    set -- "$@" "--go_opt=M$file=$package" "--go-grpc_opt=M$file=$package"
done
PATH="$GOBIN:$PATH" exec "${PROTOC:-protoc}" -I . "$@" \
    --go_out="$here/gen" --go_opt=module=example.com/broker/gen \
    --go-grpc_out="$here/gen" --go-grpc_opt=module=example.com/broker/gen \
    $files
