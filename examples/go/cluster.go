package main

import (
	"context"
	"hash/crc32"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	pb "example.com/broker/gen/quorate/v1"
)

const (
	slots        = 1_024
	messageBytes = 17 << 20 // a little more than limits.grpc_message_bytes
)

// Cluster knows the nodes of a cluster and which of them leads the shard of a key.
type Cluster struct {
	endpoints []string
	options   []grpc.DialOption
	turn      atomic.Uint64

	mu          sync.Mutex
	connections map[string]*grpc.ClientConn
	addresses   map[string]string         // of nodes
	leaders     map[string]*[slots]string // of the slots of a group: the node
}

// Connect returns a cluster that any of the endpoints belongs to; it ends with ctx.
func Connect(ctx context.Context, endpoints []string, options ...grpc.DialOption) *Cluster {
	c := &Cluster{
		endpoints: endpoints,
		options: append(options,
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageBytes)),
			// A node that vanishes without a word is noticed within seconds.
			grpc.WithKeepaliveParams(keepalive.ClientParameters{
				Time: 10 * time.Second, Timeout: 3 * time.Second,
			})),
		connections: map[string]*grpc.ClientConn{},
		addresses:   map[string]string{},
		leaders:     map[string]*[slots]string{},
	}
	go c.follow(ctx)
	return c
}

// follow has one node after the other tell where the shards are and who leads them.
func (c *Cluster) follow(ctx context.Context) {
	for ctx.Err() == nil {
		if connection, err := c.connection(c.anyone()); err == nil {
			nodes := pb.NewAdminServiceClient(connection)
			told, err := nodes.WatchTopology(ctx, &pb.TopologyRequest{})
			for err == nil {
				var change *pb.TopologyResponse
				if change, err = told.Recv(); err == nil {
					c.learn(change)
				}
			}
		}
		pause(ctx, 100*time.Millisecond)
	}
}

func (c *Cluster) learn(change *pb.TopologyResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.addresses)
	for _, node := range change.Nodes {
		c.addresses[node.Node] = node.Address
	}
	if !change.ChangesOnly {
		clear(c.leaders)
	}
	for _, shard := range change.Shards {
		leaders := c.leaders[shard.Group]
		if leaders == nil {
			leaders = new([slots]string)
			c.leaders[shard.Group] = leaders
		}
		for slot := range leaders {
			if slot>>3 < len(shard.Slots) && shard.Slots[slot>>3]&(1<<(slot&7)) != 0 {
				leaders[slot] = shard.Leader
			}
		}
	}
}

// Leader returns the address of the node that leads the shard of a key; empty: it is not known.
func (c *Cluster) Leader(group string, shardKey []byte) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	leaders := c.leaders[group]
	if leaders == nil {
		return ""
	}
	return c.addresses[leaders[crc32.ChecksumIEEE(shardKey)%slots]]
}

// anyone returns the address of one endpoint after the other: each takes every call.
func (c *Cluster) anyone() string {
	return c.endpoints[c.turn.Add(1)%uint64(len(c.endpoints))]
}

func (c *Cluster) connection(address string) (*grpc.ClientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.connections[address]; known != nil {
		return known, nil
	}
	made, err := grpc.NewClient(address, c.options...)
	if err == nil {
		c.connections[address] = made
	}
	return made, err
}
