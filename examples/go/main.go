// Counts in a cluster, each number written once, while its nodes come and go:
//
//	go run . -count 1000 127.0.0.1:7401 127.0.0.1:7402 127.0.0.1:7403
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"strconv"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	pb "example.com/broker/gen/quorate/v1"
)

const group = "metadata" // of kv.pairs

var (
	key      = []byte("go/count")
	shardKey = []byte("go") // a key up to its first slash
)

func main() {
	last := flag.Int("count", 1_000, "how far to count, at least to 4")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	// credentials.NewTLS in its place for a cluster with TLS.
	plain := grpc.WithTransportCredentials(insecure.NewCredentials())
	if err := run(ctx, Connect(ctx, flag.Args(), plain), *last); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, c *Cluster, last int) error {
	first, revision, err := read(ctx, c)
	if err != nil {
		return err
	}
	for c.Leader(group, shardKey) == "" && pause(ctx, 10*time.Millisecond) {
	}
	fmt.Printf("led by %s\n", c.Leader(group, shardKey))

	seen := &counted{}
	mirror := &Mirror{Family: "kv.pairs", Prefix: key, Rows: map[string][]byte{}, Change: seen.take}
	stop, err := follow(ctx, c, mirror)
	if err != nil {
		return err
	}
	session := c.Session(group, shardKey)
	for number := first + 1; number <= last; number++ {
		if revision, err = write(ctx, session, number, revision); err != nil {
			return fmt.Errorf("write %d: %w", number, err)
		}
		if number%100 == 0 {
			fmt.Printf("counted to %d\n", number)
		}
		switch number {
		case last / 2:
			// As a program does that ends, and goes on later with what it has stored.
			err = stop()
		case last/2 + last/4:
			stop, err = follow(ctx, c, mirror)
		}
		if err != nil {
			return err
		}
	}
	for seen.last.Load() < int64(last) && pause(ctx, 10*time.Millisecond) {
	}
	if err = stop(); err != nil {
		return err
	}
	value, _, err := read(ctx, c)
	fmt.Printf("stored %d, watched %d, gaps %d\n", value, seen.last.Load(), seen.gaps)
	return err
}

// follow has a mirror follow its rows, once they are all there; the returned function ends that.
func follow(ctx context.Context, c *Cluster, mirror *Mirror) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	ended, listed := make(chan error, 1), make(chan struct{}, 1)
	mirror.Listed = func() {
		select {
		case listed <- struct{}{}:
		default:
		}
	}
	wait := len(mirror.Token) == 0
	go func() { ended <- mirror.Follow(ctx, c) }()
	stop = func() error {
		cancel()
		return <-ended
	}
	if wait {
		select {
		case <-listed:
		case err = <-ended:
		}
	}
	return stop, err
}

// counted is what a mirror has seen of the numbers.
type counted struct {
	last atomic.Int64
	gaps int
}

func (seen *counted) take(event *pb.WatchEvent) {
	var pair pb.Pair
	if err := proto.Unmarshal(event.Value, &pair); err != nil {
		log.Fatal(err)
	}
	number, err := strconv.ParseInt(string(pair.Value), 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	if event.Kind != pb.WatchEvent_ROW && number != seen.last.Load()+1 {
		seen.gaps++
	}
	seen.last.Store(number)
}

// write stores a number if nobody has written since the revision, and returns the new one. Were it
// carried out twice, the second time would be refused with REVISION_MISMATCH.
func write(ctx context.Context, s *Session, number int, revision uint64) (uint64, error) {
	done, err := s.Do(ctx, &pb.PutPair{
		Key:              key,
		Value:            []byte(strconv.Itoa(number)),
		ExpectedRevision: proto.Uint64(revision),
	})
	if err != nil {
		return 0, err
	}
	var reply pb.PutPairReply
	err = proto.Unmarshal(done.Payload, &reply)
	return reply.Revision, err
}

// read returns the number that is stored, and its revision; 0 and 0 without one.
func read(ctx context.Context, c *Cluster) (number int, revision uint64, err error) {
	err = c.call(ctx, group, shardKey, func(ctx context.Context, node *grpc.ClientConn) error {
		found, err := pb.NewKvServiceClient(node).Get(ctx, &pb.GetPairRequest{Key: key})
		if err != nil || found.Pair == nil {
			return err
		}
		revision = found.Pair.Revision
		number, err = strconv.Atoi(string(found.Pair.Value))
		return err
	})
	return number, revision, err
}
