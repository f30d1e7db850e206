// Package rawbytes has a codec for gRPC whose messages are bytes.
package rawbytes

import (
	"fmt"

	"google.golang.org/protobuf/proto"
)

// Codec takes bytes as they are and encodes messages of protobuf as usual.
type Codec struct{}

// Name is that of the codec in the content type.
func (Codec) Name() string { return "proto" }

// Marshal encodes a message.
func (Codec) Marshal(message any) ([]byte, error) {
	switch message := message.(type) {
	case []byte:
		return message, nil
	case proto.Message:
		return proto.Marshal(message)
	default:
		return nil, fmt.Errorf("rawbytes: cannot encode %T", message)
	}
}

// Unmarshal decodes a message.
func (Codec) Unmarshal(data []byte, message any) error {
	switch message := message.(type) {
	case *[]byte:
		*message = append([]byte(nil), data...)
		return nil
	case proto.Message:
		return proto.Unmarshal(data, message)
	default:
		return fmt.Errorf("rawbytes: cannot decode into %T", message)
	}
}
