// A gRPC server of the traffic corpus. All four languages have the same service, corpus.Echo, whose messages are bytes.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"osm-ts.dev/tools/traffic/rawbytes"
)

func main() {
	address := flag.String("address", ":50051", "where to listen")
	flag.Parse()
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(
		// Bytes as they are, but the health service speaks protobuf.
		grpc.ForceServerCodec(rawbytes.Codec{}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
	)
	server.RegisterService(echoDescription(), newEcho())
	checks := health.NewServer()
	checks.SetServingStatus("corpus.Echo", healthpb.HealthCheckResponse_SERVING)
	healthpb.RegisterHealthServer(server, checks)
	log.Fatal(server.Serve(listener))
}

func echoDescription() *grpc.ServiceDesc {
	unary := func(name string, answer func(*echo, context.Context, []byte) ([]byte, error)) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(srv any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			var message []byte
			if err := decode(&message); err != nil {
				return nil, err
			}
			return answer(srv.(*echo), ctx, message)
		}}
	}
	stream := func(name string, serve func(*echo, grpc.ServerStream) error) grpc.StreamDesc {
		return grpc.StreamDesc{StreamName: name, ClientStreams: true, ServerStreams: true, Handler: func(srv any, stream grpc.ServerStream) error {
			return serve(srv.(*echo), stream)
		}}
	}
	return &grpc.ServiceDesc{
		ServiceName: "corpus.Echo",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{
			unary("Unary", (*echo).unary),
			unary("Fail", (*echo).fail),
			unary("Wait", (*echo).wait),
			unary("Counts", (*echo).counts),
			unary("Barrier", (*echo).barrier),
		},
		Streams: []grpc.StreamDesc{
			stream("Sum", (*echo).sum),
			stream("Count", (*echo).count),
			stream("Chat", (*echo).chat),
			stream("Reject", (*echo).reject),
		},
	}
}

type echo struct {
	mutex    sync.Mutex
	began    map[string]int
	ended    map[string]int
	barriers map[string]*barrier
}

type barrier struct {
	missing int
	open    chan struct{}
}

func newEcho() *echo {
	return &echo{began: map[string]int{}, ended: map[string]int{}, barriers: map[string]*barrier{}}
}

// Unary tells in metadata what metadata it got, in trailers that it is done, and sends the message back.
func (e *echo) unary(ctx context.Context, message []byte) ([]byte, error) {
	received, _ := metadata.FromIncomingContext(ctx)
	seen, err := json.Marshal(printable(received))
	if err != nil {
		return nil, err
	}
	if err := grpc.SetHeader(ctx, metadata.Pairs("seen-bin", string(seen), "answer-text", "of the header")); err != nil {
		return nil, err
	}
	if err := grpc.SetTrailer(ctx, metadata.Pairs("trailer-text", "of the trailer", "trailer-blob-bin", "\x00\x01\xff")); err != nil {
		return nil, err
	}
	return message, nil
}

func printable(received metadata.MD) map[string][]string {
	result := map[string][]string{}
	for name, values := range received {
		for _, value := range values {
			if strings.HasSuffix(name, "-bin") {
				value = base64.StdEncoding.EncodeToString([]byte(value))
			}
			// All of it must fit into the header of an answer.
			if len(value) > 100 {
				value = fmt.Sprintf("%d characters", len(value))
			}
			result[name] = append(result[name], value)
		}
	}
	return result
}

// Fail ends with the status that the message names, such as `7:no entry`, and with details.
func (e *echo) fail(ctx context.Context, message []byte) ([]byte, error) {
	number, text, _ := strings.Cut(string(message), ":")
	code, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, "the message names no code")
	}
	if err := grpc.SetTrailer(ctx, metadata.Pairs("detail-bin", "details of "+text)); err != nil {
		return nil, err
	}
	return nil, status.Error(codes.Code(code), text)
}

// Wait takes the milliseconds that its message names behind a key, such as `key:5000`, and notes if the caller ends the call before.
func (e *echo) wait(ctx context.Context, message []byte) ([]byte, error) {
	key, milliseconds, _ := strings.Cut(string(message), ":")
	duration, err := strconv.Atoi(milliseconds)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, "the message names no milliseconds")
	}
	e.note(e.began, key)
	select {
	case <-time.After(time.Duration(duration) * time.Millisecond):
		return message, nil
	case <-ctx.Done():
		e.note(e.ended, key)
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

func (e *echo) note(counts map[string]int, key string) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	counts[key]++
}

// Counts says how many calls with a key began, and how many of them callers ended.
func (e *echo) counts(_ context.Context, key []byte) ([]byte, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return fmt.Appendf(nil, "%d:%d", e.began[string(key)], e.ended[string(key)]), nil
}

// Barrier answers when as many calls with a key have come as its message says, such as `key:150`.
func (e *echo) barrier(ctx context.Context, message []byte) ([]byte, error) {
	key, number, _ := strings.Cut(string(message), ":")
	calls, err := strconv.Atoi(number)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, "the message names no number of calls")
	}
	select {
	case <-e.join(key, calls):
		return message, nil
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

func (e *echo) join(key string, calls int) <-chan struct{} {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	found, ok := e.barriers[key]
	if !ok {
		found = &barrier{missing: calls, open: make(chan struct{})}
		e.barriers[key] = found
	}
	found.missing--
	if found.missing == 0 {
		close(found.open)
		delete(e.barriers, key)
	}
	return found.open
}

// Sum answers with how many messages came and how long they are together.
func (e *echo) sum(stream grpc.ServerStream) error {
	messages, length := 0, 0
	for {
		message, err := receive(stream)
		if err != nil {
			break
		}
		messages++
		length += len(message)
	}
	return stream.SendMsg([]byte(strconv.Itoa(messages) + ":" + strconv.Itoa(length)))
}

// Count sends as many messages as its first one says.
func (e *echo) count(stream grpc.ServerStream) error {
	message, err := receive(stream)
	if err != nil {
		return err
	}
	messages, err := strconv.Atoi(string(message))
	if err != nil {
		return status.Error(codes.InvalidArgument, "the message names no number")
	}
	for i := range messages {
		if err := stream.SendMsg([]byte(strconv.Itoa(i))); err != nil {
			return err
		}
	}
	return nil
}

// Chat sends each message back before it reads the next, and ends when the caller does.
func (e *echo) chat(stream grpc.ServerStream) error {
	if err := stream.SendHeader(metadata.Pairs("answer-text", "before any message")); err != nil {
		return err
	}
	for {
		message, err := receive(stream)
		if err != nil {
			stream.SetTrailer(metadata.Pairs("trailer-text", "of the chat"))
			return nil
		}
		if err := stream.SendMsg(message); err != nil {
			return err
		}
	}
}

// Reject ends the call after the first message, while the caller is still sending.
func (e *echo) reject(stream grpc.ServerStream) error {
	if _, err := receive(stream); err != nil {
		return err
	}
	return status.Error(codes.ResourceExhausted, "enough")
}

func receive(stream grpc.ServerStream) ([]byte, error) {
	var message []byte
	err := stream.RecvMsg(&message)
	return message, err
}
