// Does the exchanges of the gRPC corpus with the client of google.golang.org/grpc.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"osm-ts.dev/tools/traffic/exchanges"
	"osm-ts.dev/tools/traffic/rawbytes"
)

const (
	largeBytes      = 3 << 20
	concurrentCalls = 150
	// Go sends no pings more often than every ten seconds.
	keepaliveTime = 10 * time.Second
	idleTime      = 12 * time.Second
	barrierTime   = time.Minute
)

type object = map[string]any

func main() { exchanges.Run(connect) }

type caller struct {
	connection *grpc.ClientConn
	key        string
}

func connect(target exchanges.Target) (map[string]exchanges.Exchange, error) {
	connection, err := grpc.NewClient(
		"dns:///"+target.Address(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(rawbytes.Codec{}), grpc.WaitForReady(true)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: time.Minute, PermitWithoutStream: true}),
	)
	if err != nil {
		return nil, err
	}
	// Several clients may ask one server.
	c := caller{connection, fmt.Sprintf("go-%d-%d", os.Getpid(), time.Now().UnixNano())}
	return map[string]exchanges.Exchange{
		"unary":         c.unary,
		"empty-message": c.emptyMessage,
		"large-message": c.largeMessage,
		"gzip":          c.gzip,
		"failure":       c.failure,
		"unimplemented": c.unimplemented,
		"client-stream": c.clientStream,
		"server-stream": c.serverStream,
		"bidi-stream":   c.bidiStream,
		"early-end":     c.earlyEnd,
		"deadline":      c.deadline,
		"cancellation":  c.cancellation,
		"concurrent":    c.concurrent,
		"keepalive":     c.keepalive,
		"health":        c.health,
	}, nil
}

func (c caller) call(ctx context.Context, method string, message []byte, options ...grpc.CallOption) ([]byte, error) {
	var answer []byte
	err := c.connection.Invoke(ctx, "/corpus.Echo/"+method, message, &answer, options...)
	return answer, err
}

func (c caller) stream(ctx context.Context, method string) (grpc.ClientStream, error) {
	both := &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}
	return c.connection.NewStream(ctx, both, "/corpus.Echo/"+method)
}

func (c caller) unary() (any, error) {
	ctx := metadata.AppendToOutgoingContext(context.Background(),
		"text", "plain value", "list", "a", "list", "b", "blob-bin", "\x00\x01\xfe\xff", "long", strings.Repeat("x", 6000))
	var header, trailer metadata.MD
	answer, err := c.call(ctx, "Unary", []byte("hello"), grpc.Header(&header), grpc.Trailer(&trailer))
	if err != nil {
		return nil, err
	}
	var seen any
	if err := json.Unmarshal([]byte(first(header, "seen-bin")), &seen); err != nil {
		return nil, err
	}
	return object{
		"message":     string(answer),
		"metadata":    seen,
		"header":      first(header, "answer-text"),
		"trailer":     first(trailer, "trailer-text"),
		"trailerBlob": base64.StdEncoding.EncodeToString([]byte(first(trailer, "trailer-blob-bin"))),
	}, nil
}

func first(md metadata.MD, name string) string {
	if values := md.Get(name); len(values) > 0 {
		return values[0]
	}
	return ""
}

func (c caller) emptyMessage() (any, error) {
	answer, err := c.call(context.Background(), "Unary", []byte{})
	return object{"bytes": len(answer)}, err
}

func (c caller) largeMessage() (any, error) {
	answer, err := c.call(context.Background(), "Unary", bytes.Repeat([]byte("large"), largeBytes/5))
	return digest(answer), err
}

func (c caller) gzip() (any, error) {
	answer, err := c.call(context.Background(), "Unary", bytes.Repeat([]byte("small "), 50_000), grpc.UseCompressor("gzip"))
	return digest(answer), err
}

func digest(message []byte) object {
	sum := sha256.Sum256(message)
	return object{"bytes": len(message), "sha256": hex.EncodeToString(sum[:])}
}

func (c caller) failure() (any, error) {
	var trailer metadata.MD
	_, err := c.call(context.Background(), "Fail", []byte("7:Grüße, 100 % sure\nof it"), grpc.Trailer(&trailer))
	return object{"code": status.Code(err), "message": status.Convert(err).Message(), "details": first(trailer, "detail-bin")}, nil
}

func (c caller) unimplemented() (any, error) {
	_, err := c.call(context.Background(), "Missing", nil)
	return object{"code": status.Code(err), "message": status.Convert(err).Message()}, nil
}

func (c caller) clientStream() (any, error) {
	stream, err := c.stream(context.Background(), "Sum")
	if err != nil {
		return nil, err
	}
	for range 100 {
		if err := stream.SendMsg(make([]byte, 1024)); err != nil {
			return nil, err
		}
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	messages, err := receiveAll(stream)
	return object{"answers": messages}, err
}

func (c caller) serverStream() (any, error) {
	stream, err := c.stream(context.Background(), "Count")
	if err != nil {
		return nil, err
	}
	if err := stream.SendMsg([]byte("500")); err != nil {
		return nil, err
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	messages, err := receiveAll(stream)
	return object{"messages": len(messages), "inOrder": areCounted(messages)}, err
}

func receiveAll(stream grpc.ClientStream) ([]string, error) {
	var messages []string
	for {
		var message []byte
		if err := stream.RecvMsg(&message); err == io.EOF {
			return messages, nil
		} else if err != nil {
			return messages, err
		}
		messages = append(messages, string(message))
	}
}

func areCounted(messages []string) bool {
	for i, message := range messages {
		if message != strconv.Itoa(i) {
			return false
		}
	}
	return true
}

func (c caller) bidiStream() (any, error) {
	stream, err := c.stream(context.Background(), "Chat")
	if err != nil {
		return nil, err
	}
	// The header comes before the first message is sent.
	header, err := stream.Header()
	if err != nil {
		return nil, err
	}
	same := 0
	for i := range 20 {
		answer, err := ask(stream, strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		if answer == strconv.Itoa(i) {
			same++
		}
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	rest, err := receiveAll(stream)
	return object{"header": first(header, "answer-text"), "answers": same, "rest": len(rest), "trailer": first(stream.Trailer(), "trailer-text")}, err
}

func ask(stream grpc.ClientStream, message string) (string, error) {
	if err := stream.SendMsg([]byte(message)); err != nil {
		return "", err
	}
	var answer []byte
	err := stream.RecvMsg(&answer)
	return string(answer), err
}

func (c caller) earlyEnd() (any, error) {
	stream, err := c.stream(context.Background(), "Reject")
	if err != nil {
		return nil, err
	}
	if err := stream.SendMsg([]byte("first")); err != nil {
		return nil, err
	}
	_, err = receiveAll(stream)
	return object{"code": status.Code(err), "message": status.Convert(err).Message()}, nil
}

func (c caller) deadline() (any, error) {
	// The time is not for making the connection.
	if _, err := c.call(context.Background(), "Unary", nil); err != nil {
		return nil, err
	}
	key := c.key + "-deadline"
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
	defer cancel()
	_, err := c.call(ctx, "Wait", []byte(key+":60000"))
	code := status.Code(err)
	// A server that is faster than the client resets the stream, and a sidecar says UNAVAILABLE then.
	isOver := code == codes.Canceled || code == codes.DeadlineExceeded || code == codes.Unavailable
	return object{"isOver": isOver, "endedAtServer": c.untilCounted(key, "1:1")}, nil
}

func (c caller) cancellation() (any, error) {
	key := c.key + "-cancellation"
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	failure := make(chan error, 1)
	go func() {
		_, err := c.call(ctx, "Wait", []byte(key+":60000"))
		failure <- err
	}()
	began := c.untilCounted(key, "1:0")
	cancel()
	return object{"began": began, "code": status.Code(<-failure), "endedAtServer": c.untilCounted(key, "1:1")}, nil
}

// Waits until a server has counted so many calls that began and that callers ended.
func (c caller) untilCounted(key, counts string) bool {
	for begin := time.Now(); time.Since(begin) < 100*time.Second; time.Sleep(50 * time.Millisecond) {
		if answer, err := c.call(context.Background(), "Counts", []byte(key)); err == nil && string(answer) == counts {
			return true
		}
	}
	return false
}

func (c caller) concurrent() (any, error) {
	answered := make(chan codes.Code, concurrentCalls)
	ctx, cancel := context.WithTimeout(context.Background(), barrierTime)
	defer cancel()
	var calls sync.WaitGroup
	for range concurrentCalls {
		calls.Add(1)
		go func() {
			defer calls.Done()
			_, err := c.call(ctx, "Barrier", []byte(c.key+":"+strconv.Itoa(concurrentCalls)))
			answered <- status.Code(err)
		}()
	}
	calls.Wait()
	close(answered)
	byCode := map[string]int{}
	for code := range answered {
		byCode[strconv.Itoa(int(code))]++
	}
	return object{"callsByCode": byCode}, nil
}

func (c caller) keepalive() (any, error) {
	stream, err := c.stream(context.Background(), "Chat")
	if err != nil {
		return nil, err
	}
	before, err := ask(stream, "before")
	if err != nil {
		return nil, err
	}
	time.Sleep(idleTime)
	after, err := ask(stream, "after")
	if err != nil {
		return nil, err
	}
	return object{"before": before, "after": after}, stream.CloseSend()
}

func (c caller) health() (any, error) {
	client := healthpb.NewHealthClient(c.connection)
	known, err := client.Check(context.Background(), &healthpb.HealthCheckRequest{Service: "corpus.Echo"})
	if err != nil {
		return nil, err
	}
	_, err = client.Check(context.Background(), &healthpb.HealthCheckRequest{Service: "corpus.Nothing"})
	return object{"known": known.GetStatus().String(), "unknown": status.Code(err)}, nil
}
