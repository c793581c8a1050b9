package main

import (
	"context"
	"errors"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "example.com/broker/gen/quorate/v1"
)

// A Session carries out each command once, however often it is sent. It belongs to the shard of a
// key, and takes one command at a time.
type Session struct {
	cluster  *Cluster
	group    string
	shardKey []byte

	mu       sync.Mutex
	number   uint64 // 0: it is not open
	sequence uint64
}

// Session returns a session for commands whose shard keys belong to the shard of a key.
func (c *Cluster) Session(group string, shardKey []byte) *Session {
	return &Session{cluster: c, group: group, shardKey: shardKey}
}

// Do carries out a command once. ErrOutcomeUnknown is all that leaves open whether it did.
func (s *Session) Do(ctx context.Context, command proto.Message) (*pb.CommandReply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	payload, err := proto.Marshal(command)
	if err != nil {
		return nil, err
	}
	name := string(command.ProtoReflect().Descriptor().FullName())
	for {
		if err := s.open(ctx); err != nil {
			return nil, err
		}
		s.sequence++
		reply, err := s.send(ctx, &pb.Command{
			Type:    name,
			Payload: payload,
			// No earlier command is sent again, so that the shard may forget their answers.
			Stamp: &pb.Stamp{
				Session: s.number, Sequence: s.sequence, LowestUnanswered: s.sequence,
			},
		})
		if err == nil || AdviceOf(err).Reason != "SESSION_EXPIRED" {
			return reply, err
		}
		s.number = 0
		// It was refused for that alone; but an attempt before it may have been carried out.
		if errors.Is(err, ErrOutcomeUnknown) {
			return nil, err
		}
	}
}

func (s *Session) open(ctx context.Context) error {
	if s.number != 0 {
		return nil
	}
	request := &pb.OpenSessionRequest{Group: s.group, ShardKey: s.shardKey, TtlMs: 60_000}
	return s.cluster.call(ctx, s.group, s.shardKey,
		func(ctx context.Context, node *grpc.ClientConn) error {
			opened, err := pb.NewCommandServiceClient(node).OpenSession(ctx, request)
			if err == nil {
				s.number, s.sequence = opened.Session, 0
			}
			return err
		})
}

func (s *Session) send(ctx context.Context, command *pb.Command) (reply *pb.CommandReply, err error) {
	request := &pb.ExecuteRequest{Commands: []*pb.Command{command}}
	err = s.cluster.call(ctx, s.group, s.shardKey,
		func(ctx context.Context, node *grpc.ClientConn) error {
			executed, err := pb.NewCommandServiceClient(node).Execute(ctx, request)
			if err != nil {
				return err
			}
			answer := executed.Answers[0]
			reply = answer.GetReply()
			return status.ErrorProto(answer.GetStatus()) // nil without a status
		})
	return reply, err
}
