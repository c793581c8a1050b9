// Locks, elections, transactional memory and watches of etcd's own Go client, against several nodes.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

const contenders = 5
const rounds = 10

func must(err error) {
	if err != nil {
		fmt.Println("FAILED", err)
		os.Exit(1)
	}
}

func session(client *clientv3.Client) *concurrency.Session {
	made, err := concurrency.NewSession(client, concurrency.WithTTL(10))
	must(err)
	return made
}

func together(work func(number int)) {
	var group sync.WaitGroup
	for number := 0; number < contenders; number++ {
		group.Add(1)
		go func() {
			defer group.Done()
			work(number)
		}()
	}
	group.Wait()
}

// Each adds to a counter that only the holder of the lock may read and write.
func locks(ctx context.Context, client *clientv3.Client) {
	together(func(number int) {
		own := session(client)
		defer own.Close()
		mutex := concurrency.NewMutex(own, "lock")
		for round := 0; round < rounds; round++ {
			must(mutex.Lock(ctx))
			found, err := client.Get(ctx, "count")
			must(err)
			count := 0
			if len(found.Kvs) > 0 {
				count, _ = strconv.Atoi(string(found.Kvs[0].Value))
			}
			_, err = client.Put(ctx, "count", strconv.Itoa(count+1))
			must(err)
			must(mutex.Unlock(ctx))
		}
	})
	found, err := client.Get(ctx, "count")
	must(err)
	fmt.Println("locks", string(found.Kvs[0].Value))
}

// Each leads once; an observer sees leaders.
func elections(ctx context.Context, client *clientv3.Client) {
	led := make(chan string, contenders)
	together(func(number int) {
		own := session(client)
		defer own.Close()
		election := concurrency.NewElection(own, "election")
		name := "n" + strconv.Itoa(number)
		must(election.Campaign(ctx, name))
		leader, err := election.Leader(ctx)
		must(err)
		led <- string(leader.Kvs[0].Value)
		if string(leader.Kvs[0].Value) != name {
			must(fmt.Errorf("%s leads in the place of %s", leader.Kvs[0].Value, name))
		}
		must(election.Resign(ctx))
	})
	fmt.Println("elections", len(led))
}

// Each moves between two accounts, whose sum stays as it is.
func memory(ctx context.Context, client *clientv3.Client) {
	_, err := client.Put(ctx, "from", "1000")
	must(err)
	_, err = client.Put(ctx, "to", "0")
	must(err)
	together(func(number int) {
		for round := 0; round < rounds; round++ {
			_, err := concurrency.NewSTM(client, func(stm concurrency.STM) error {
				from, _ := strconv.Atoi(stm.Get("from"))
				to, _ := strconv.Atoi(stm.Get("to"))
				stm.Put("from", strconv.Itoa(from-1))
				stm.Put("to", strconv.Itoa(to+1))
				return nil
			}, concurrency.WithAbortContext(ctx))
			must(err)
		}
	})
	from, err := client.Get(ctx, "from")
	must(err)
	to, err := client.Get(ctx, "to")
	must(err)
	fmt.Println("stm", string(from.Kvs[0].Value), string(to.Kvs[0].Value))
}

// A watch tells every put once, in order, while the puts go to all nodes.
func watches(ctx context.Context, client *clientv3.Client) {
	begun, err := client.Get(ctx, "none")
	must(err)
	watch := client.Watch(clientv3.WithRequireLeader(ctx), "w/", clientv3.WithPrefix(),
		clientv3.WithRev(begun.Header.Revision+1), clientv3.WithPrevKV())
	together(func(number int) {
		for round := 0; round < rounds; round++ {
			_, err := client.Put(ctx, fmt.Sprintf("w/%d", number), strconv.Itoa(round))
			must(err)
		}
	})
	seen := 0
	last := begun.Header.Revision
	for answer := range watch {
		must(answer.Err())
		for _, event := range answer.Events {
			if event.Kv.ModRevision <= last {
				must(fmt.Errorf("revision %d after %d", event.Kv.ModRevision, last))
			}
			last = event.Kv.ModRevision
			seen++
		}
		if seen >= contenders*rounds {
			break
		}
	}
	fmt.Println("watches", seen)
}

func main() {
	client, err := clientv3.New(clientv3.Config{
		Endpoints:   strings.Split(os.Args[1], ","),
		DialTimeout: 10 * time.Second,
	})
	must(err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	locks(ctx, client)
	elections(ctx, client)
	memory(ctx, client)
	watches(ctx, client)
}
