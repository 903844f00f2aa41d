package keep

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"hindcast/redact"
	"hindcast/store"
	"hindcast/store/engine"
	"hindcast/store/home"
	"hindcast/store/media/files"
)

// batchSize is how many bytes of new parts a transaction adds.
const batchSize = 16 << 20

// mostTries bounds how often a store is kept anew because another program forgot parts meanwhile.
const mostTries = 3

// errForgotten: another program removed a part meanwhile.
var errForgotten = errors.New("parts were forgotten meanwhile")

// Keep keeps the files of a store, and the rows of its sessions in databases. What is kept already costs a look at each file.
func (a *Archive) Keep(ctx context.Context, f store.Found) (home.Kept, error) {
	return a.keepStore(ctx, f, false)
}

// KeepRedacted is Keep, but writes the letter x over the secrets of known shape in new bytes.
func (a *Archive) KeepRedacted(ctx context.Context, f store.Found) (home.Kept, error) {
	return a.keepStore(ctx, f, true)
}

func (a *Archive) keepStore(ctx context.Context, f store.Found, redacted bool) (done home.Kept, err error) {
	k, known := a.findKind(f.Name)
	at, err := filepath.Abs(f.At)
	if err == nil && (!known || strings.Contains(f.At, "://")) {
		err = errElsewhere
	}
	if err == nil {
		err = a.makeArchive(ctx)
	}
	for try := 1; err == nil; try++ {
		var list []picked
		var databases []string
		if databases, err = findDatabases(k, at); err == nil {
			list, err = a.pickFiles(ctx, k, at, databases)
		}
		if err != nil {
			break
		}
		if done, err = a.keepFiles(ctx, k, at, list, databases, redacted); !errors.Is(err, errForgotten) || try == mostTries {
			break
		}
		err = nil
	}
	if err != nil {
		return done, fmt.Errorf("keep %s %q: %w", f.Name, f.At, files.Cause(err))
	}
	return done, nil
}

// fileRow is a row of the table files.
type fileRow struct {
	id, size, modified int64
	mode               fs.FileMode
	stamp              string
	tag, list          []byte
	gone               bool
	// redacted says that there are letters in place of secrets.
	redacted bool
}

// piece is a part: one that is kept, or one on its way.
type piece struct {
	hash hash
	size int
	id   int64 // 0 until it is kept
	at   int   // where it begins in its block
}

// block has parts that are new.
type block struct {
	raw      []byte
	pieces   []*piece
	size     int
	encoding int
	data     []byte
	err      error
	ready    chan struct{} // closed when it is compressed
}

// batch has the blocks and rows that one transaction adds.
type batch struct {
	blocks []*block
	rows   []newRow
}

// newRow is the row of a file that was read.
type newRow struct {
	name   string
	old    *fileRow // nil of a new file
	grows  bool     // all of old is at its beginning
	row    fileRow
	pieces []*piece
}

// keeping keeps the files of one store.
type keeping struct {
	a      *Archive
	store  int64
	now    time.Time
	cutter cutter
	window window
	rows   map[string]*fileRow
	// forgotten are the names that are not kept again.
	forgotten map[string]bool
	// masker hides secrets; nil leaves them.
	masker *redact.Redactor
	// read are the databases whose sessions are known.
	read map[string]bool
	// parts are all parts by their hashes, and byID by their numbers; nil until a file changed.
	parts map[hash]*piece
	byID  map[int64]*piece

	batch   *batch
	filling *block
	size    int           // of the batch
	workers chan struct{} // a place for each block that is compressed
	adding  chan *batch
	done    home.Kept
}

// keepFiles keeps the files of a store, and the rows in its databases.
func (a *Archive) keepFiles(ctx context.Context, kind engine.Kind, at string, list []picked, databases []string, redacted bool) (done home.Kept, err error) {
	k := &keeping{a: a, now: a.now(), cutter: cutter{makeGears()}, batch: new(batch), filling: new(block), read: map[string]bool{}}
	k.workers = make(chan struct{}, runtime.GOMAXPROCS(0))
	if redacted {
		if k.masker, err = redact.New(redact.Options{}); err != nil {
			return k.done, err
		}
	}
	if err = k.loadFiles(ctx, kind.Name, at); err != nil {
		return k.done, a.wrapError(err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	k.adding = make(chan *batch)
	var writer sync.WaitGroup
	writer.Go(func() {
		for b := range k.adding {
			if ctx.Err() == nil {
				if err := k.addBatch(ctx, b); err != nil {
					stop(err)
				}
			}
		}
	})
	back, there := []int64(nil), make(map[string]bool, len(list))
	for _, p := range list {
		there[p.name] = true
		if k.forgotten[p.name] {
			continue
		}
		old := k.rows[p.name]
		k.countFile(p.info.Size())
		if old != nil && old.gone {
			back = append(back, old.id)
		}
		if old != nil && old.stamp != "" && old.stamp == files.StampOf(p.info, time.Now()).ContentKey() && !k.unhides(old) {
			continue
		}
		if err = k.addFile(ctx, p, old); errors.Is(err, fs.ErrNotExist) {
			err, there[p.name] = nil, false // it went meanwhile
		}
		if err != nil || ctx.Err() != nil {
			break
		}
	}
	for i := 0; i < len(databases) && err == nil && ctx.Err() == nil; i++ {
		if err = k.addTables(ctx, kind, databases[i], there); err != nil {
			err = fmt.Errorf("read %q: %w", databases[i], err)
		}
	}
	if err == nil && ctx.Err() == nil {
		k.sendBatch(ctx)
	}
	close(k.adding)
	writer.Wait()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return k.done, err
	}
	return k.done, a.wrapError(k.noteGone(ctx, back, there))
}

// loadFiles reads what the archive has of the store, and the names that are not kept again.
func (k *keeping) loadFiles(ctx context.Context, kind, at string) error {
	err := k.a.on.readTx(ctx, func(t tx) error {
		k.forgotten, k.rows = map[string]bool{}, map[string]*fileRow{}
		if err := t.eachRow(ctx, func(scan func(...any) error) error {
			var name string
			err := scan(&name)
			k.forgotten[name] = true
			return err
		}, "SELECT name FROM forgotten"); err != nil {
			return err
		}
		if _, err := t.scanRow(ctx, []any{&k.store}, "SELECT store FROM stores WHERE kind = ? AND at = ?", kind, at); err != nil {
			return err
		}
		// A file that two stores share is that of the first.
		return t.eachRow(ctx, func(scan func(...any) error) error {
			r, name := new(fileRow), ""
			err := scan(&r.id, &name, &r.size, &r.mode, &r.modified, &r.stamp, &r.tag, &r.list, &r.gone, &r.redacted)
			k.rows[name] = r
			return err
		}, "SELECT file, name, size, mode, modified, stamp, tag, list, gone IS NOT NULL, redacted FROM files WHERE newest = 1")
	})
	if err != nil || k.store != 0 {
		return err
	}
	return k.a.on.writeTx(ctx, func(t tx) error {
		if err := t.execLater(ctx, "INSERT INTO stores (kind, at, seen) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", kind, at, k.now.UnixNano()); err != nil {
			return err
		}
		_, err := t.scanRow(ctx, []any{&k.store}, "SELECT store FROM stores WHERE kind = ? AND at = ?", kind, at)
		return err
	})
}

// loadParts reads which parts there are, once.
func (k *keeping) loadParts(ctx context.Context) error {
	if k.parts != nil {
		return nil
	}
	return k.a.on.readTx(ctx, func(t tx) error {
		k.parts, k.byID = map[hash]*piece{}, map[int64]*piece{}
		return t.eachRow(ctx, func(scan func(...any) error) error {
			p, sum := new(piece), []byte(nil)
			if err := scan(&p.id, &sum, &p.size); err != nil {
				return err
			}
			copy(p.hash[:], sum)
			k.parts[p.hash], k.byID[p.id] = p, p
			return nil
		}, "SELECT part, hash, size FROM parts")
	})
}

// mostReads bounds how often a file is read that another program writes over meanwhile.
const mostReads = 3

// addFile reads a file that is new or has changed. The error is fs.ErrNotExist if it went meanwhile.
func (k *keeping) addFile(ctx context.Context, p picked, old *fileRow) error {
	f, err := os.Open(filepath.FromSlash(p.name))
	if err != nil {
		return err
	}
	defer f.Close() // it was only read
	for reads := 1; ; reads++ {
		before, info := time.Now(), fs.FileInfo(nil)
		if info, err = f.Stat(); err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return nil // another took its name
		}
		row := newRow{name: p.name, old: old, row: fileRow{mode: info.Mode().Perm(), modified: info.ModTime().UnixNano()}}
		var from content = osFile{f}
		var mask *masked
		if k.masker != nil {
			mask = &masked{of: from, by: k.masker}
			from = mask
		}
		if err := k.readParts(ctx, from, old, &row); err != nil {
			return fmt.Errorf("read %q: %w", p.name, files.Cause(err))
		}
		row.row.redacted = mask != nil && mask.hidden > 0
		after, err := f.Stat()
		if err != nil {
			return err
		}
		was := files.StampOf(info, before)
		switch {
		case was.LooksSame(files.StampOf(after, before)):
			row.row.stamp = was.ContentKey()
		case after.Size() < row.row.size || after.Size() == info.Size():
			if reads < mostReads {
				continue
			}
		}
		k.batch.rows = append(k.batch.rows, row)
		k.done.Changed++
		return nil
	}
}

// content is read into parts, from its beginning after each rewind.
type content interface {
	io.Reader
	rewind() error
}

// osFile is a file as content.
type osFile struct{ *os.File }

func (f osFile) rewind() error {
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// readParts reads a content into parts. If it still begins with all parts of old, these come first.
func (k *keeping) readParts(ctx context.Context, f content, old *fileRow, row *newRow) error {
	if err := k.loadParts(ctx); err != nil {
		return err
	}
	if err := k.rewindFile(f); err != nil {
		return err
	}
	if old != nil && len(old.list) > 0 {
		same, err := k.comparePrefix(old, row)
		if err != nil {
			return err
		}
		if row.grows = same; !same {
			row.pieces, row.row.size = row.pieces[:0], 0
			if err := k.rewindFile(f); err != nil {
				return err
			}
		}
	}
	for {
		data, err := k.window.peekBytes(mostPart)
		if err != nil {
			return err
		}
		if len(data) == 0 {
			return nil
		}
		n := k.cutter.endOf(data)
		p, err := k.addPart(ctx, data[:n])
		if err != nil {
			return err
		}
		k.window.takeBytes(n)
		row.pieces = append(row.pieces, p)
		row.row.size += int64(n)
	}
}

func (k *keeping) rewindFile(f content) error {
	err := f.rewind()
	k.window.resetReader(f)
	return err
}

// comparePrefix takes the parts of old, as far as the file begins with them, and reports whether it begins with all. A
// last part that is small is cut anew where the file grew.
func (k *keeping) comparePrefix(old *fileRow, row *newRow) (same bool, err error) {
	list := decodeList(old.list)
	for i, id := range list {
		p := k.byID[id]
		if p == nil {
			return false, errForgotten
		}
		data, err := k.window.peekBytes(p.size + 1)
		if err != nil {
			return false, err
		}
		if len(data) < p.size || sha256.Sum256(data[:p.size]) != p.hash {
			return false, nil
		}
		if i == len(list)-1 && p.size < leastPart && len(data) > p.size {
			return true, nil
		}
		k.window.takeBytes(p.size)
		row.pieces = append(row.pieces, p)
		row.row.size += int64(p.size)
	}
	return true, nil
}

// addPart returns the part with the bytes of data, which are copied if it is new.
func (k *keeping) addPart(ctx context.Context, data []byte) (*piece, error) {
	sum := sha256.Sum256(data)
	if p := k.parts[sum]; p != nil {
		return p, nil
	}
	p := &piece{hash: sum, size: len(data), at: len(k.filling.raw)}
	k.parts[sum] = p
	if k.filling.raw == nil {
		k.filling.raw = make([]byte, 0, mostBlock)
	}
	k.filling.raw = append(k.filling.raw, data...)
	k.filling.pieces = append(k.filling.pieces, p)
	k.done.Added += int64(len(data))
	if k.size += len(data); len(k.filling.raw) >= blockSize {
		k.sealBlock()
	}
	if k.size >= batchSize {
		k.sendBatch(ctx)
	}
	return p, context.Cause(ctx)
}

// sealBlock begins to compress the block that is being filled.
func (k *keeping) sealBlock() {
	b := k.filling
	if len(b.raw) == 0 {
		return
	}
	k.filling, b.ready, b.size = new(block), make(chan struct{}), len(b.raw)
	k.batch.blocks = append(k.batch.blocks, b)
	k.workers <- struct{}{}
	go func() {
		defer close(b.ready)
		b.encoding, b.data, b.err = k.a.codec.encodeBlock(b.raw)
		b.raw = nil
		<-k.workers
	}()
}

// sendBatch hands what was gathered to the writer.
func (k *keeping) sendBatch(ctx context.Context) {
	k.sealBlock()
	if len(k.batch.blocks)+len(k.batch.rows) == 0 {
		return
	}
	k.adding <- k.batch
	k.batch, k.size = new(batch), 0
}

// addBatch adds blocks, parts and files in one transaction.
func (k *keeping) addBatch(ctx context.Context, b *batch) error {
	for _, block := range b.blocks {
		if <-block.ready; block.err != nil {
			return block.err
		}
	}
	ids := map[*piece]int64{}
	err := k.a.on.writeTx(ctx, func(t tx) error {
		clear(ids)
		for _, block := range b.blocks {
			if err := t.addBlock(ctx, block, ids); err != nil {
				return err
			}
		}
		return k.addFiles(ctx, t, b.rows, ids)
	})
	if err != nil {
		return k.a.wrapError(err)
	}
	for p, id := range ids {
		p.id = id
	}
	for _, block := range b.blocks {
		k.done.Stored += int64(len(block.data))
	}
	return nil
}

// insertBlock inserts a block.
const insertBlock = "INSERT INTO blocks (size, encoding, data) VALUES (?, ?, ?)"

// addFiles adds the rows of a batch. Parts that are not of it must be there: the error is errForgotten.
func (k *keeping) addFiles(ctx context.Context, t tx, rows []newRow, ids map[*piece]int64) error {
	missing, newest := map[int64]bool{}, map[string]fileRow{}
	names := make([]string, len(rows))
	for i := range rows {
		names[i] = rows[i].name
		for _, p := range rows[i].pieces {
			if _, here := ids[p]; !here {
				missing[p.id] = true
			}
		}
	}
	err := t.findParts(ctx, slices.Sorted(maps.Keys(missing)), func(p placedPart) { delete(missing, p.id) })
	if err == nil && len(missing) > 0 {
		err = errForgotten
	}
	noteNewest := func(name string, r fileRow) { newest[name] = r }
	if err == nil {
		err = t.findNewest(ctx, names, noteNewest)
	}
	added := map[string]bool{}
	for i := 0; i < len(rows) && err == nil; i++ {
		if added[rows[i].name] { // it was read anew
			err = t.findNewest(ctx, names[i:i+1], noteNewest)
		}
		if added[rows[i].name] = true; err == nil {
			err = k.addRow(ctx, t, &rows[i], ids, newest)
		}
	}
	return err
}

// addRow adds the row of a file: in place of the newest one, if that is its beginning.
func (k *keeping) addRow(ctx context.Context, t tx, row *newRow, ids map[*piece]int64, newest map[string]fileRow) error {
	list, sum := make([]byte, 0, 3*len(row.pieces)), sha256.New()
	for _, p := range row.pieces {
		id, here := ids[p]
		if !here {
			id = p.id
		}
		list = binary.AppendUvarint(list, uint64(id))
		sum.Write(p.hash[:])
	}
	row.row.list, row.row.tag = list, sum.Sum(nil)
	last, found := newest[row.name]
	r := &row.row
	if found && (slices.Equal(last.tag, r.tag) || row.grows && row.old != nil && slices.Equal(last.tag, row.old.tag)) {
		return t.execLater(ctx, "UPDATE files SET size = ?, mode = ?, modified = ?, stamp = ?, tag = ?, list = ?, gone = NULL, redacted = ? WHERE file = ?",
			r.size, r.mode, r.modified, r.stamp, r.tag, r.list, r.redacted, last.id)
	}
	if found {
		if err := t.execLater(ctx, "UPDATE files SET newest = NULL WHERE file = ?", last.id); err != nil {
			return err
		}
	}
	return t.execLater(ctx, "INSERT INTO files (store, name, newest, size, mode, modified, stamp, tag, list, kept, redacted) VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?)",
		k.store, row.name, r.size, r.mode, r.modified, r.stamp, r.tag, r.list, k.now.UnixNano(), r.redacted)
}

// noteGone notes which files went, those of other stores too: a store whose files are all gone is found no more. It
// also notes which files are back.
func (k *keeping) noteGone(ctx context.Context, back []int64, there map[string]bool) error {
	var gone []int64
	for name, r := range k.rows {
		if !r.gone && !there[name] && k.isGone(name) {
			gone = append(gone, r.id)
		}
	}
	k.done.Gone = len(gone)
	return k.a.on.writeTx(ctx, func(t tx) error {
		for _, id := range gone {
			if err := t.execLater(ctx, "UPDATE files SET gone = ? WHERE file = ? AND gone IS NULL", k.now.UnixNano(), id); err != nil {
				return err
			}
		}
		for _, id := range back {
			if err := t.execLater(ctx, "UPDATE files SET gone = NULL WHERE file = ?", id); err != nil {
				return err
			}
		}
		return t.execLater(ctx, "UPDATE stores SET seen = ? WHERE store = ?", k.now.UnixNano(), k.store)
	})
}

// isGone reports whether a kept file is missing, or a session is in no database any more.
func (k *keeping) isGone(name string) bool {
	database, _, is := splitRows(name)
	if !is {
		return isMissing(name)
	}
	return k.read[database] || isMissing(database)
}

// unhides reports whether a kept file is to be read again although it looks as it did: it was kept without its secrets.
func (k *keeping) unhides(old *fileRow) bool { return old.redacted && k.masker == nil }

// countFile counts a file of the store.
func (k *keeping) countFile(size int64) {
	k.done.Files++
	k.done.Bytes += size
}

// isBelow reports whether a name is a folder, or below it.
func isBelow(name, dir string) bool {
	return name == dir || len(name) > len(dir) && name[:len(dir)] == dir && name[len(dir)] == '/'
}

// decodeList returns the numbers of parts. What is no list ends it.
func decodeList(list []byte) (ids []int64) {
	for len(list) > 0 {
		id, n := binary.Uvarint(list)
		if n <= 0 {
			return append(ids, 0) // no part has this number
		}
		ids, list = append(ids, int64(id)), list[n:]
	}
	return ids
}
