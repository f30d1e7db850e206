package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"osm-ts.dev/tools/traffic/exchanges"
)

const (
	largeBytes = 1 << 20
	idleTime   = 2 * time.Second
)

func withPgx(target exchanges.Target) (map[string]exchanges.Exchange, error) {
	ctx := context.Background()
	// Clients beside the mesh and through it use one server at the same time.
	own := fmt.Sprintf("go_%d_%d", os.Getpid(), time.Now().UnixNano())
	settings := func(password, more string) string {
		return fmt.Sprintf("host=%s port=%d user=corpus password=%s dbname=postgres %s", target.Host, target.Port, password, more)
	}
	using := func(settings string, work func(*pgx.Conn) (any, error)) (any, error) {
		connection, err := pgx.Connect(ctx, settings)
		if err != nil {
			return nil, err
		}
		result, err := work(connection)
		return result, errors.Join(err, connection.Close(ctx))
	}
	plain := settings("corpus", "sslmode=disable")
	text := func(query string) func(*pgx.Conn) (any, error) {
		return func(it *pgx.Conn) (any, error) {
			var value string
			err := it.QueryRow(ctx, query).Scan(&value)
			return value, err
		}
	}
	codeOf := func(_ any, err error) (any, error) {
		var failure *pgconn.PgError
		if !errors.As(err, &failure) {
			return nil, fmt.Errorf("no error of PostgreSQL: %w", err)
		}
		return object{"code": failure.Code, "message": failure.Message}, nil
	}
	return map[string]exchanges.Exchange{
		"query": func() (any, error) { return using(plain, text("select version()")) },
		"prepared": func() (any, error) {
			return using(plain, func(it *pgx.Conn) (any, error) {
				var seen []string
				for _, value := range []string{"a", "b"} {
					var twice string
					if err := it.QueryRow(ctx, "select $1::text || $1", value).Scan(&twice); err != nil {
						return nil, err
					}
					seen = append(seen, twice)
				}
				return seen, nil
			})
		},
		"many-rows": func() (any, error) {
			return using(plain, func(it *pgx.Conn) (any, error) {
				rows, err := it.Query(ctx, "select i from generate_series(1, 5000) i")
				if err != nil {
					return nil, err
				}
				numbers, err := pgx.CollectRows(rows, pgx.RowTo[int])
				return len(numbers), err
			})
		},
		"large": func() (any, error) {
			value, err := using(plain, text(fmt.Sprintf("select repeat('x', %d)", largeBytes)))
			if err != nil {
				return nil, err
			}
			return digest([]byte(value.(string))), nil
		},
		"pipeline": func() (any, error) {
			return using(plain, func(it *pgx.Conn) (any, error) {
				batch := &pgx.Batch{}
				sum := 0
				for i := range 500 {
					batch.Queue("select $1::int", i).QueryRow(func(row pgx.Row) error {
						var value int
						err := row.Scan(&value)
						sum += value
						return err
					})
				}
				err := it.SendBatch(ctx, batch).Close()
				return sum, err
			})
		},
		"copy": func() (any, error) {
			return using(plain, func(it *pgx.Conn) (any, error) {
				if _, err := it.Exec(ctx, "create temporary table things (n int, t text)"); err != nil {
					return nil, err
				}
				row := func(i int) ([]any, error) { return []any{i, strings.Repeat("x", 100)}, nil }
				return it.CopyFrom(ctx, pgx.Identifier{"things"}, []string{"n", "t"}, pgx.CopyFromSlice(5000, row))
			})
		},
		"notification": func() (any, error) {
			return using(plain, func(it *pgx.Conn) (any, error) {
				if _, err := it.Exec(ctx, "listen "+own); err != nil {
					return nil, err
				}
				if _, err := using(plain, func(other *pgx.Conn) (any, error) { return other.Exec(ctx, "notify "+own+", 'news'") }); err != nil {
					return nil, err
				}
				news, err := it.WaitForNotification(ctx)
				if err != nil {
					return nil, err
				}
				return news.Payload, nil
			})
		},
		"idle": func() (any, error) {
			return using(plain, func(it *pgx.Conn) (any, error) {
				time.Sleep(idleTime)
				return text("select 'after'")(it)
			})
		},
		"error":          func() (any, error) { return codeOf(using(plain, text("select (1 / 0)::text"))) },
		"wrong-password": func() (any, error) { return codeOf(using(settings("wrong", "sslmode=disable"), text("select ''"))) },
		"tls": func() (any, error) {
			secret := settings("corpus", "sslmode=verify-full sslrootcert="+filepath.Join(os.Args[2], "tls.crt"))
			return using(secret, text("select version from pg_stat_ssl where pid = pg_backend_pid()"))
		},
	}, nil
}
