// Package exchanges runs what a client of the traffic corpus does with each of its servers.
package exchanges

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"sync"
	"time"
)

const exchangeTime = 2 * time.Minute

// Target is a server, with the names of the exchanges that a client has with it.
type Target struct {
	Server    string `json:"server"`
	Host      string `json:"host"`
	Port      int    `json:"port"`
	Exchanges []struct {
		Name string `json:"name"`
	} `json:"exchanges"`
}

// Address is host and port, as a client dials them.
func (target Target) Address() string { return fmt.Sprintf("%s:%d", target.Host, target.Port) }

// Exchange does one thing with a server and says what it has seen.
type Exchange func() (any, error)

// Run reads targets from the standard input, runs all exchanges at once, and prints what they have seen as one JSON document.
func Run(connect func(Target) (map[string]Exchange, error)) {
	var input struct {
		Targets []Target `json:"targets"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		log.Fatal(err)
	}
	seen := map[string]map[string]any{}
	var mutex sync.Mutex
	var running sync.WaitGroup
	for _, target := range input.Targets {
		ofTarget := map[string]any{}
		seen[target.Server] = ofTarget
		running.Add(1)
		go func() {
			defer running.Done()
			known, err := connect(target)
			var ofServer sync.WaitGroup
			for _, exchange := range target.Exchanges {
				ofServer.Add(1)
				go func() {
					defer ofServer.Done()
					result := resultOf(known[exchange.Name], exchange.Name, err)
					mutex.Lock()
					defer mutex.Unlock()
					ofTarget[exchange.Name] = result
				}()
			}
			ofServer.Wait()
		}()
	}
	running.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(seen); err != nil {
		log.Fatal(err)
	}
}

func resultOf(exchange Exchange, name string, err error) any {
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	if exchange == nil {
		return map[string]any{"error": "no exchange of this client is named " + name}
	}
	ended := make(chan any, 1)
	go func() {
		result, err := exchange()
		if err != nil {
			result = map[string]any{"error": err.Error()}
		}
		ended <- result
	}()
	select {
	case result := <-ended:
		return result
	// One that hangs must not hide the others.
	case <-time.After(exchangeTime):
		return map[string]any{"error": "did not end"}
	}
}
