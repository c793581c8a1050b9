package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	attemptTime  = 5 * time.Second
	firstPause   = 20 * time.Millisecond
	longestPause = time.Second
)

// ErrOutcomeUnknown says that a write may have been done: read, then decide.
var ErrOutcomeUnknown = errors.New("the outcome is unknown")

// Advice is what the failure of an attempt says about another one.
type Advice struct {
	Reason string
	// "safe": nothing was done. "session": it may have been done. Empty: do not try again.
	Retry string
	// It was refused before the shard looked whether an earlier attempt was carried out.
	Unlogged bool
	Delay    time.Duration
}

// AdviceOf reads the details that nodes give with every failure.
func AdviceOf(err error) Advice {
	failed := status.Convert(err)
	var advice Advice
	for _, detail := range failed.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			advice.Reason = detail.Reason
			advice.Retry = detail.Metadata["retry"]
			advice.Unlogged = detail.Reason == "INVALID" || detail.Metadata["stage"] == "admission"
		case *errdetails.RetryInfo:
			advice.Delay = detail.RetryDelay.AsDuration()
		}
	}
	if advice.Reason == "" {
		// No node said that: the connection was lost, or the time of the attempt was over.
		switch failed.Code() {
		case codes.Unavailable, codes.Canceled, codes.Unknown, codes.Internal, codes.DeadlineExceeded:
			advice.Retry = "session"
		}
	}
	return advice
}

// call makes attempts until one is answered or refused for good, or ctx ends. It is for reads and
// for commands with a stamp: only these may be sent again after an answer was lost.
func (c *Cluster) call(
	ctx context.Context, group string, shardKey []byte,
	attempt func(context.Context, *grpc.ClientConn) error,
) error {
	lost := false
	for number, wait := 0, firstPause; ; number, wait = number+1, min(2*wait, longestPause) {
		address := c.Leader(group, shardKey)
		if address == "" || number%2 == 1 {
			// The leader may be gone, and any node finds the next one.
			address = c.anyone()
		}
		err := c.once(ctx, address, attempt)
		if err == nil {
			return nil
		}
		advice := AdviceOf(err)
		if advice.Retry == "" {
			if lost && (advice.Unlogged || advice.Reason == "SESSION_EXPIRED") {
				return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
			}
			return err
		}
		lost = lost || advice.Retry != "safe"
		if !pause(ctx, max(wait, advice.Delay)) {
			if lost {
				return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
			}
			return err
		}
	}
}

func (c *Cluster) once(
	ctx context.Context, address string, attempt func(context.Context, *grpc.ClientConn) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	connection, err := c.connection(address)
	if err != nil {
		return err
	}
	return attempt(ctx, connection)
}

// pause returns false when ctx ends first.
func pause(ctx context.Context, length time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(length):
		return true
	}
}
