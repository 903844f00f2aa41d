package keep

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync/atomic"
	"time"

	"hindcast/store/media/pg"
)

//go:embed served.sql
var servedSQL string

// served is an archive in a database on a PostgreSQL server, in the schema hindcast_kept.
type served struct {
	own *pg.Own
	// known says that the archive was there, and of this version.
	known atomic.Bool
}

const (
	// onSchema has a transaction find the tables by their names, and nothing of other schemas.
	onSchema = "SELECT set_config('search_path', 'pg_catalog, hindcast_kept, pg_temp', true)"
	// oneWriter has transactions that write wait for each other, as they do in a file.
	oneWriter = "SELECT pg_advisory_xact_lock(7521983, 2)"
	// hasArchive reads the tables of the catalog: what to_regclass says may be from before oneWriter.
	hasArchive = "SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'hindcast_kept' AND c.relname = 'archive')"
)

func newServed(server *pg.Server) *served {
	return &served{own: server.Own(pg.Terms{Setup: []string{onSchema}})}
}

func (s *served) String() string { return s.own.String() }

// Close lets go of the connections.
func (s *served) Close() error { return s.own.Close() }

// checkVersion returns nil for an archive of this version. The error is fs.ErrNotExist without an archive.
func (s *served) checkVersion(ctx context.Context, t *pg.Tx) error {
	if s.known.Load() {
		return nil
	}
	var there bool
	var version int64
	err := t.Row(ctx, hasArchive).Scan(&there)
	if err == nil && !there {
		err = fmt.Errorf("the database holds no archive: %w", fs.ErrNotExist)
	}
	if err == nil {
		err = t.Row(ctx, "SELECT coalesce(max(version), 0) FROM archive").Scan(&version)
	}
	if err == nil && version != schemaVersion {
		err = fmt.Errorf("%w: its tables are of version %d, this program's of %d", ErrForeign, version, schemaVersion)
	}
	s.known.Store(err == nil)
	return err
}

func (s *served) readTx(ctx context.Context, what func(tx) error) error {
	return s.own.Read(ctx, func(t *pg.Tx) error {
		if err := s.checkVersion(ctx, t); err != nil {
			return err
		}
		return what(servedTx{t})
	})
}

func (s *served) writeTx(ctx context.Context, what func(tx) error) error {
	return s.own.Write(ctx, func(t *pg.Tx) error {
		if err := t.Later(oneWriter); err != nil {
			return err
		}
		if err := s.checkVersion(ctx, t); err != nil {
			return err
		}
		return what(servedTx{t})
	})
}

func (s *served) makeTables(ctx context.Context) error {
	if err := s.renewSchema(ctx); !errors.Is(err, fs.ErrNotExist) { // a server that does not answer is not waited for
		return err
	}
	return s.own.Write(ctx, func(t *pg.Tx) error {
		if err := t.Later(oneWriter); err != nil {
			return err
		}
		var there bool
		if err := t.Row(ctx, hasArchive).Scan(&there); err != nil || there {
			return err
		}
		for statement := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(servedSQL), ";"), ";\n") {
			if err := t.Define(ctx, statement); err != nil {
				return err
			}
		}
		return t.Later("INSERT INTO archive (version) VALUES (?)", int64(schemaVersion))
	})
}

// renewSchema does nothing: the tables on a server are of the first version that had some there.
func (s *served) renewSchema(ctx context.Context) error {
	return s.readTx(ctx, func(tx) error { return nil })
}

// errReading: a transaction sees the archive as it was, so that the server keeps what was deleted since.
var errReading = errors.New("another program reads the archive just now")

// How often wipeDeleted looks whether others read, and for how long.
const (
	readingPause = 20 * time.Millisecond
	longestRead  = 5 * time.Second
)

// wipeDeleted has the server write the table of blocks anew, without the rows that were deleted. The error is errReading where a transaction sees
// these still.
func (s *served) wipeDeleted(ctx context.Context) error {
	for began := time.Now(); ; {
		err := s.own.Write(ctx, func(t *pg.Tx) error {
			if err := t.Later(oneWriter); err != nil {
				return err
			}
			var reading bool
			if err := t.Row(ctx, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL)").Scan(&reading); err != nil {
				return err
			}
			if reading {
				return errReading
			}
			return t.Define(ctx, "CLUSTER blocks USING blocks_pkey")
		})
		if !errors.Is(err, errReading) || time.Since(began) > longestRead {
			return err
		}
		select {
		case <-time.After(readingPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// servedTx is a transaction on a server.
type servedTx struct{ on *pg.Tx }

func (t servedTx) scanRow(ctx context.Context, into []any, query string, args ...any) (found bool, err error) {
	if found, err = t.on.First(ctx, into, query, pg.EscapeAll(args)...); found {
		pg.UnescapeAll(into)
	}
	return found, err
}

func (t servedTx) eachRow(ctx context.Context, row func(scan func(into ...any) error) error, query string, args ...any) error {
	return t.on.Each(ctx, func(scan func(into ...any) error) error {
		return row(func(into ...any) error {
			err := scan(into...)
			pg.UnescapeAll(into)
			return err
		})
	}, query, pg.EscapeAll(args)...)
}

func (t servedTx) execLater(_ context.Context, query string, args ...any) error {
	return t.on.Later(query, pg.EscapeAll(args)...)
}

func (t servedTx) addBlock(ctx context.Context, b *block, ids map[*piece]int64) error {
	var in int64
	if err := t.on.Row(ctx, insertBlock+" RETURNING block", b.size, b.encoding, b.data).Scan(&in); err != nil {
		return err
	}
	pieces := make(map[hash]*piece, len(b.pieces))
	hashes, places, sizes := make([][]byte, 0, len(b.pieces)), make([]int64, 0, len(b.pieces)), make([]int64, 0, len(b.pieces))
	for _, p := range b.pieces {
		pieces[p.hash] = p
		hashes, places, sizes = append(hashes, p.hash[:]), append(places, int64(p.at)), append(sizes, int64(p.size))
	}
	return t.on.Each(ctx, func(scan func(into ...any) error) error {
		var id int64
		var sum []byte
		err := scan(&id, &sum)
		var of hash
		copy(of[:], sum)
		if p := pieces[of]; p != nil {
			ids[p] = id
		}
		return err
	}, `WITH given AS (SELECT * FROM unnest(?::bytea[], ?::bigint[], ?::bigint[]) AS g (hash, at, size)),
		added AS (INSERT INTO parts (hash, block, at, size) SELECT hash, ?::bigint, at, size FROM given ON CONFLICT (hash) DO NOTHING RETURNING part, hash)
		SELECT part, hash FROM added UNION ALL SELECT part, hash FROM parts WHERE hash IN (SELECT hash FROM given)`, hashes, places, sizes, in)
}

func (t servedTx) findParts(ctx context.Context, ids []int64, found func(p placedPart)) error {
	if len(ids) == 0 {
		return nil
	}
	return t.on.Each(ctx, func(scan func(into ...any) error) error {
		var p placedPart
		err := scan(&p.id, &p.block, &p.at, &p.size)
		found(p)
		return err
	}, "SELECT part, block, at, size FROM parts WHERE part = ANY(?::bigint[])", ids)
}

func (t servedTx) findNewest(ctx context.Context, names []string, found func(name string, r fileRow)) error {
	if len(names) == 0 {
		return nil
	}
	kept := make([]string, len(names))
	for i, name := range names {
		kept[i] = pg.Escape(name)
	}
	return t.eachRow(ctx, func(scan func(into ...any) error) error {
		var name string
		var r fileRow
		err := scan(&r.id, &name, &r.tag)
		found(name, r)
		return err
	}, "SELECT file, name, tag FROM files WHERE name = ANY(?::text[]) AND newest = 1", kept)
}
