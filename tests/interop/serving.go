// A server of gRPC's interoperability tests at a free port of the loopback, which it prints.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	certificate := flag.String("certificate", "", "with TLS: its certificate")
	key := flag.String("key", "", "and the key of it")
	flag.Parse()
	var options []grpc.ServerOption
	if *certificate != "" {
		tls, err := credentials.NewServerTLSFromFile(*certificate, *key)
		must(err)
		options = append(options, grpc.Creds(tls))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	server := grpc.NewServer(options...)
	testgrpc.RegisterTestServiceServer(server, interop.NewTestServer())
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	must(server.Serve(listener))
}
