// Command linear-cache is go-control-plane as somebody uses it who has no policy: linear caches behind its xDS server, and nothing else.
//
// It is told what to serve by lines of JSON on standard input, answers each by a line on standard output, and ends with its input.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listener "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	route "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	secret "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	resources "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	server "github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/proto"
)

// command is a line of standard input. Messages are encoded DeltaDiscoveryResponses.
type command struct {
	ID          int      `json:"id"`
	Type        string   `json:"type"`
	Chain       string   `json:"chain"`
	PrivateKey  string   `json:"privateKey"`
	ClientRoots string   `json:"clientRoots"`
	NodeIDs     []string `json:"nodeIds"`
	Messages    [][]byte `json:"messages"`
}

// answer is a line of standard output.
type answer struct {
	ID    int    `json:"id"`
	Port  int    `json:"port,omitempty"`
	At    string `json:"at,omitempty"`
	Error string `json:"error,omitempty"`
}

func main() {
	peers := newPeers()
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	decoder := json.NewDecoder(lines)
	encoder := json.NewEncoder(os.Stdout)
	for {
		var told command
		if err := decoder.Decode(&told); err != nil {
			return
		}
		done, err := peers.do(told)
		if err != nil {
			done.Error = err.Error()
		}
		done.ID = told.ID
		if err := encoder.Encode(done); err != nil {
			return
		}
	}
}

// peers finds the caches of a proxy. Endpoints are the same for all; what else there is belongs to the proxies of one workload.
type peers struct {
	mutex     sync.RWMutex
	endpoints *cache.LinearCache
	byNode    map[string]*workload
}

// workload is what the proxies of one workload are sent, by type.
type workload struct {
	caches map[string]*cache.LinearCache
}

func newPeers() *peers {
	return &peers{endpoints: cache.NewLinearCache(resources.EndpointType), byNode: map[string]*workload{}}
}

func (p *peers) do(told command) (answer, error) {
	switch told.Type {
	case "start":
		port, err := p.start(told)
		return answer{Port: port}, err
	case "answers":
		return answer{}, p.load(told)
	case "push":
		at := time.Now()
		err := p.put(nil, told.Messages)
		return answer{At: fmt.Sprint(monotonic(at))}, err
	}
	return answer{}, fmt.Errorf("unknown command %q", told.Type)
}

// load gives proxies of one workload what they are to be sent.
func (p *peers) load(told command) error {
	own := &workload{caches: map[string]*cache.LinearCache{}}
	for _, typeURL := range []string{resources.ClusterType, resources.ListenerType, resources.ExtensionConfigType, resources.RouteType, resources.SecretType} {
		own.caches[typeURL] = cache.NewLinearCache(typeURL)
	}
	if err := p.put(own, told.Messages); err != nil {
		return err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, id := range told.NodeIDs {
		p.byNode[id] = own
	}
	return nil
}

// put updates caches with the resources of messages.
func (p *peers) put(own *workload, messages [][]byte) error {
	for _, octets := range messages {
		var response discovery.DeltaDiscoveryResponse
		if err := proto.Unmarshal(octets, &response); err != nil {
			return err
		}
		target := p.endpoints
		if response.TypeUrl != resources.EndpointType {
			if own == nil || own.caches[response.TypeUrl] == nil {
				return fmt.Errorf("no cache of %s", response.TypeUrl)
			}
			target = own.caches[response.TypeUrl]
		}
		update := map[string]types.Resource{}
		for _, each := range response.Resources {
			message, err := newResource(response.TypeUrl)
			if err != nil {
				return err
			}
			if err := proto.Unmarshal(each.Resource.Value, message); err != nil {
				return err
			}
			update[each.Name] = message
		}
		if err := target.UpdateResources(update, response.RemovedResources); err != nil {
			return err
		}
	}
	return nil
}

func newResource(typeURL string) (proto.Message, error) {
	switch typeURL {
	case resources.ClusterType:
		return &cluster.Cluster{}, nil
	case resources.EndpointType:
		return &endpoint.ClusterLoadAssignment{}, nil
	case resources.ListenerType:
		return &listener.Listener{}, nil
	case resources.ExtensionConfigType:
		return &core.TypedExtensionConfig{}, nil
	case resources.RouteType:
		return &route.RouteConfiguration{}, nil
	case resources.SecretType:
		return &secret.Secret{}, nil
	}
	return nil, fmt.Errorf("unknown type %s", typeURL)
}

func (p *peers) find(nodeID, typeURL string) (*cache.LinearCache, error) {
	if typeURL == resources.EndpointType {
		return p.endpoints, nil
	}
	p.mutex.RLock()
	defer p.mutex.RUnlock()
	if own := p.byNode[nodeID]; own != nil && own.caches[typeURL] != nil {
		return own.caches[typeURL], nil
	}
	return nil, fmt.Errorf("nothing is served to %q of %s", nodeID, typeURL)
}

// CreateWatch implements cache.ConfigWatcher.
func (p *peers) CreateWatch(request *cache.Request, subscription cache.Subscription, out chan cache.Response) (func(), error) {
	found, err := p.find(request.GetNode().GetId(), request.GetTypeUrl())
	if err != nil {
		return nil, err
	}
	return found.CreateWatch(request, subscription, out)
}

// CreateDeltaWatch implements cache.ConfigWatcher.
func (p *peers) CreateDeltaWatch(request *cache.DeltaRequest, subscription cache.Subscription, out chan cache.DeltaResponse) (func(), error) {
	found, err := p.find(request.GetNode().GetId(), request.GetTypeUrl())
	if err != nil {
		return nil, err
	}
	return found.CreateDeltaWatch(request, subscription, out)
}

// Fetch implements cache.ConfigFetcher.
func (p *peers) Fetch(context.Context, *cache.Request) (cache.Response, error) {
	return nil, errors.New("there is no REST here")
}

func (p *peers) start(told command) (int, error) {
	certificate, err := tls.X509KeyPair([]byte(told.Chain), []byte(told.PrivateKey))
	if err != nil {
		return 0, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(told.ClientRoots)) {
		return 0, errors.New("no root of clients")
	}
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	transport := credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{certificate},
		ClientCAs:    roots,
		ClientAuth:   tls.RequireAndVerifyClientCert,
		MinVersion:   tls.VersionTLS13,
	})
	service := grpc.NewServer(grpc.Creds(transport), grpc.MaxConcurrentStreams(8))
	discovery.RegisterAggregatedDiscoveryServiceServer(service, server.NewServer(context.Background(), p, nil))
	go func() {
		if err := service.Serve(socket); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}()
	return socket.Addr().(*net.TCPAddr).Port, nil
}
