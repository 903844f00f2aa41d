package native

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"hindcast/store/native/parts"
)

// How the bytes of parts are stored
//
// A stream is cut into segments of segmentSize bytes. A full segment is one row of
// blocks, compressed as a whole, so that text which messages share costs nothing.
// Behind the last full segment lie the bytes of the last few states, a row for each
// addition. When they fill a segment, they are joined to one row. So every state is
// on the disk when its transaction ends, no byte is written more than twice, and a
// state of 500 kB is ten rows.

const (
	encodingRaw  = 0
	encodingZstd = 1
	// smallBlock is the size below which compression gains nothing.
	smallBlock  = 256
	segmentSize = 1 << 16
)

// The streams of a session, by content. The streams of drafts hold the states that no snapshot has; see
// drafts.go.
const (
	streamAround = iota // what lies around arrays
	streamArrays        // what lies within arrays
	streamLists         // nodes of lists
	streamsKept         // how many they are
	streamsDraft = 4    // added for those of drafts
	streamsEach  = 8    // how many numbers a session takes
)

// sessionPlaces is how many places the streams of a session take.
const sessionPlaces = streamsEach * parts.MaxOffset

// owner is where new parts go: to a session's streams.
type owner struct {
	session int64
	draft   bool
}

func (o owner) stream(kind parts.Stream) parts.Stream {
	if o.draft {
		kind += streamsDraft
	}
	return parts.Stream(o.session)*streamsEach + kind
}

// canUse reports whether a state of the owner can use what is at a place.
func (o owner) canUse(p parts.Place) bool {
	return !isDraft(p) || o.draft && int64(p.Stream())/streamsEach == o.session
}

func isDraft(p parts.Place) bool { return p.Stream()%streamsEach >= streamsDraft }

// codec compresses blocks. Its functions make the coders when they are first
// needed, since a store that is only listed needs none.
type codec struct {
	encoder func() (*zstd.Encoder, error)
	decoder func() (*zstd.Decoder, error)
}

func newCodec() codec {
	return codec{
		encoder: sync.OnceValues(func() (*zstd.Encoder, error) {
			return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		}),
		decoder: sync.OnceValues(func() (*zstd.Decoder, error) {
			return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxState), zstd.WithDecodeAllCapLimit(true))
		}),
	}
}

func (c codec) encode(raw []byte) (encoding int64, data []byte, err error) {
	if len(raw) < smallBlock {
		return encodingRaw, raw, nil
	}
	encoder, err := c.encoder()
	if err != nil {
		return 0, nil, err
	}
	if data = encoder.EncodeAll(raw, nil); len(data) >= len(raw) {
		return encodingRaw, raw, nil
	}
	return encodingZstd, data, nil
}

// decode puts the bytes of a row into dst, which is as long as they have to be.
func (c codec) decode(encoding int64, data, dst []byte) error {
	n := len(data)
	switch encoding {
	case encodingRaw:
		copy(dst, data)
	case encodingZstd:
		decoder, err := c.decoder()
		if err != nil {
			return err
		}
		out, err := decoder.DecodeAll(data, dst[:0:len(dst)])
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDamagedState, err)
		}
		n = len(out)
	default:
		return fmt.Errorf("%w: an encoding %d", ErrDamagedState, encoding)
	}
	if n != len(dst) {
		return fmt.Errorf("%w: %d bytes where there should be %d", ErrDamagedState, n, len(dst))
	}
	return nil
}

// want is a run of bytes that is read, and where it goes.
type want struct {
	parts.Extent
	to []byte
}

// readList returns the bytes of a list one behind the other, in dst, which is as long
// as they are. Every row is decoded once, wherever its bytes go.
func (c codec) readList(ctx context.Context, t *tx, list []parts.Extent, dst []byte) error {
	wants := make([]want, len(list))
	for i, e := range list {
		wants[i], dst = want{e, dst[:e.Len]}, dst[e.Len:]
	}
	slices.SortFunc(wants, func(a, b want) int { return cmp.Compare(a.At, b.At) })
	for len(wants) > 0 {
		// What lies near is one query.
		n, end := 1, wants[0].End()
		for n < len(wants) && wants[n].At < end+segmentSize {
			end = max(end, wants[n].End())
			n++
		}
		if err := c.readRun(ctx, t, wants[:n], end); err != nil {
			return err
		}
		wants = wants[n:]
	}
	return nil
}

// readRun reads what lies near each other, up to end.
func (c codec) readRun(ctx context.Context, t *tx, wants []want, end parts.Place) error {
	rows, err := t.Rows(ctx, `SELECT place, size, encoding, data FROM blocks
		WHERE place >= coalesce((SELECT max(place) FROM blocks WHERE place <= ?1), ?1) AND place < ?2 ORDER BY place`, int64(wants[0].At), int64(end))
	if err != nil {
		return err
	}
	defer rows.Close()
	var open []want // begun, and not at their end
	var encoding int64
	var data sql.RawBytes
	d := decoding{codec: c}
	defer d.waitForRows()
	var row parts.Extent
	into := []any{&row.At, &row.Len, &encoding, &data}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if row.Len <= 0 || row.Len > segmentSize {
			return fmt.Errorf("%w: a block of %d bytes", ErrDamagedState, row.Len)
		}
		for len(wants) > 0 && wants[0].At < row.End() {
			open, wants = append(open, wants[0]), wants[1:]
		}
		if open, err = d.serveRow(open, row, encoding, data); err != nil {
			return err
		}
	}
	if err := errors.Join(rows.Err(), d.waitForRows()); err != nil {
		return err
	}
	if len(open)+len(wants) > 0 {
		return errMissing
	}
	return nil
}

var errMissing = fmt.Errorf("%w: some of it is missing", ErrDamagedState)

// decoding decodes rows, each once, those of a large state several at a time.
type decoding struct {
	codec codec
	// scratch is for rows that are wanted in part.
	scratch []byte
	rows    int
	// free limits how many rows are decoded at a time. errs has their errors.
	free    chan struct{}
	errs    chan error
	running sync.WaitGroup
}

// inTurn is how many rows are decoded one after the other: for a few it is not worth
// more than that.
const inTurn = 8

// serveRow copies a row's bytes to the wants that need them, and returns the wants that need more rows.
func (d *decoding) serveRow(open []want, row parts.Extent, encoding int64, data []byte) (still []want, err error) {
	var now []want // what of each lies in the row
	still = open[:0]
	for _, w := range open {
		if w.At < row.At {
			return nil, errMissing
		}
		if w.At >= row.End() {
			// The row before the first that was asked for.
			still = append(still, w)
			continue
		}
		n := min(int64(row.End()-w.At), w.Len)
		now = append(now, want{parts.Extent{At: w.At, Len: n}, w.to[:n:n]})
		if n < w.Len {
			still = append(still, want{parts.Extent{At: w.At + parts.Place(n), Len: w.Len - n}, w.to[n:]})
		}
	}
	if len(now) == 0 {
		return still, nil
	}
	if d.rows++; d.rows <= inTurn {
		d.scratch = slices.Grow(d.scratch[:0], segmentSize)
		return still, d.codec.decodeInto(now, row, encoding, data, d.scratch)
	}
	if d.free == nil {
		d.free, d.errs = make(chan struct{}, runtime.GOMAXPROCS(0)), make(chan error, 1)
	}
	data = bytes.Clone(data) // the driver's is overwritten by the next row
	d.free <- struct{}{}
	d.running.Go(func() {
		defer func() { <-d.free }()
		if err := d.codec.decodeInto(now, row, encoding, data, nil); err != nil {
			select {
			case d.errs <- err:
			default: // one is enough
			}
		}
	})
	return still, nil
}

// waitForRows waits for the rows that are decoded, and returns an error of one of them.
func (d *decoding) waitForRows() error {
	d.running.Wait()
	select {
	case err := <-d.errs:
		return err
	default:
		return nil
	}
}

// decodeInto decodes a row and copies to each what it wants of it. scratch has room for a row,
// or is nil.
func (c codec) decodeInto(wants []want, row parts.Extent, encoding int64, data, scratch []byte) error {
	text := wants[0].to
	if wants[0].Len < row.Len {
		text = slices.Grow(scratch[:0], int(row.Len))[:row.Len]
	}
	if err := c.decode(encoding, data, text); err != nil {
		return err
	}
	for i, w := range wants {
		if i > 0 || w.Len < row.Len {
			copy(w.to, text[w.At-row.At:])
		}
	}
	return nil
}

// writer adds bytes to the end of one stream.
type writer struct {
	codec  codec
	tx     *tx
	stream parts.Stream
	// offset is where rest goes, the bytes that are not written yet.
	offset int64
	rest   []byte
}

// newWriter finds the end of a stream.
func newWriter(ctx context.Context, t *tx, c codec, stream parts.Stream) (*writer, error) {
	if stream < 0 || stream > parts.MaxStream {
		return nil, fmt.Errorf("%w: more sessions than it has streams for", ErrFull)
	}
	end, err := streamEnd(ctx, t, stream)
	return &writer{codec: c, tx: t, stream: stream, offset: end}, err
}

func streamEnd(ctx context.Context, t *tx, stream parts.Stream) (end int64, err error) {
	var last parts.Extent
	err = t.Row(ctx, "SELECT place, size FROM blocks WHERE place BETWEEN ? AND ? ORDER BY place DESC LIMIT 1",
		int64(stream.At(0)), int64(stream.At(parts.MaxOffset-1))).Scan(&last.At, &last.Len)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil
	case err != nil:
		return 0, err
	case last.Len <= 0 || last.Len > segmentSize:
		last.Len = segmentSize // whatever it is, nothing can be behind that
	}
	return last.At.Offset() + last.Len, nil
}

// addBytes returns the place at which the bytes will be. They are copied.
func (w *writer) addBytes(ctx context.Context, bytes []byte) (parts.Place, error) {
	offset := w.offset + int64(len(w.rest))
	if offset > parts.MaxOffset-int64(len(bytes)) {
		return 0, fmt.Errorf("%w: %d bytes in one stream", ErrFull, offset)
	}
	w.rest = append(w.rest, bytes...)
	return w.stream.At(offset), w.writeFull(ctx)
}

// writeFull writes the segments that are full.
func (w *writer) writeFull(ctx context.Context) error {
	for {
		begun := w.offset % segmentSize
		n := segmentSize - begun
		if int64(len(w.rest)) < n {
			return nil
		}
		before, err := w.takeBack(ctx, begun)
		if errors.Is(err, ErrDamagedState) {
			before, err = nil, nil // it stays as it is, for doctor to find
		}
		if err == nil {
			err = w.insertRow(ctx, w.offset-int64(len(before)), append(before, w.rest[:n]...))
		}
		if err != nil {
			return err
		}
		w.offset += n
		w.rest = append(w.rest[:0], w.rest[n:]...)
	}
}

// takeBack reads and removes the rows of the segment that was begun.
func (w *writer) takeBack(ctx context.Context, begun int64) ([]byte, error) {
	if begun == 0 {
		return nil, nil
	}
	at := w.stream.At(w.offset - begun)
	bytes := make([]byte, begun, segmentSize)
	if err := w.codec.readList(ctx, w.tx, []parts.Extent{{At: at, Len: begun}}, bytes); err != nil {
		return nil, err
	}
	err := w.tx.Exec(ctx, "DELETE FROM blocks WHERE place >= ? AND place < ?", int64(at), int64(w.stream.At(w.offset)))
	return bytes, err
}

func (w *writer) insertRow(ctx context.Context, offset int64, bytes []byte) error {
	encoding, data, err := w.codec.encode(bytes)
	if err != nil {
		return err
	}
	err = w.tx.Exec(ctx, "INSERT INTO blocks (place, size, encoding, data) VALUES (?, ?, ?, ?)", int64(w.stream.At(offset)), len(bytes), encoding, data)
	return err
}

// copyUnwritten copies what is at a place, if none of it is written yet.
func (w *writer) copyUnwritten(from parts.Extent, into []byte) bool {
	at := from.At.Offset() - w.offset
	if from.At.Stream() != w.stream || at < 0 || at+from.Len > int64(len(w.rest)) {
		return false
	}
	copy(into, w.rest[at:at+from.Len])
	return true
}

// flush writes what is left.
func (w *writer) flush(ctx context.Context) error {
	if len(w.rest) == 0 {
		return nil
	}
	err := w.insertRow(ctx, w.offset, w.rest)
	w.offset += int64(len(w.rest))
	w.rest = w.rest[:0]
	return err
}
