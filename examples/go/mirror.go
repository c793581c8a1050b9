package main

import (
	"context"
	"errors"
	"io"
	"time"

	pb "example.com/broker/gen/quorate/v1"
)

// A Mirror keeps rows of a family as the cluster has them. Keep Rows and Token together, for example
// in a file, and another mirror goes on from there: it is given nothing twice and misses nothing.
type Mirror struct {
	Family string
	Prefix []byte
	Rows   map[string][]byte
	Token  []byte // empty: the rows come first
	Change func(*pb.WatchEvent)
	Listed func() // all rows were given; each response says it from then on
}

// Follow keeps the rows until ctx ends, or until the cluster refuses the watch.
func (m *Mirror) Follow(ctx context.Context, c *Cluster) error {
	for {
		if len(m.Token) == 0 {
			clear(m.Rows)
		}
		err := m.watch(ctx, c)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) && AdviceOf(err).Retry == "" {
			return err
		}
		pause(ctx, 100*time.Millisecond)
	}
}

// watch follows one stream of any node; it returns nil to begin anew with the rows.
func (m *Mirror) watch(ctx context.Context, c *Cluster) error {
	connection, err := c.connection(c.anyone())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := pb.NewWatchServiceClient(connection).Watch(ctx, &pb.WatchRequest{
		Families: []*pb.WatchedFamily{{Name: m.Family, Prefix: m.Prefix}},
		Token:    m.Token,
	})
	for err == nil {
		var response *pb.WatchResponse
		if response, err = stream.Recv(); err == nil {
			if response.Resync != nil {
				m.Token = nil // history after the token is gone
				return nil
			}
			m.take(response)
		}
	}
	return err
}

func (m *Mirror) take(response *pb.WatchResponse) {
	for _, event := range response.Events {
		if event.Kind == pb.WatchEvent_DELETED {
			delete(m.Rows, string(event.Key))
		} else {
			m.Rows[string(event.Key)] = event.Value
		}
		m.Change(event)
	}
	// There is none while the rows are being given: a watch that breaks then begins anew.
	if len(response.Token) > 0 {
		m.Token = response.Token
	}
	if response.Listed {
		m.Listed()
	}
}
