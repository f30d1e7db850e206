// Does the exchanges of the TCP corpus with clients in Go: tcp-client LIBRARY KEYS
package main

import (
	"log"
	"os"

	"osm-ts.dev/tools/traffic/exchanges"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: tcp-client LIBRARY KEYS")
	}
	libraries := map[string]func(exchanges.Target) (map[string]exchanges.Exchange, error){
		"pgx":  withPgx,
		"smtp": withSMTP,
		"tls":  withTLS,
	}
	connect, ok := libraries[os.Args[1]]
	if !ok {
		log.Fatalf("no library is named %s", os.Args[1])
	}
	exchanges.Run(connect)
}
