package sqlitefile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"modernc.org/sqlite/vfs"
)

// How a file is read that its writer left unsettled
//
// In a rollback mode a writer saves each page in a journal before it changes the page in the
// file. A journal that is left behind is hot: the next program that opens the file for writing
// puts the pages back. In WAL mode a writer appends pages to a log, and the next program
// brings into the file what was committed. A reader does the same in memory, and writes nothing:
//
//	-journal  header │ page number, bytes, sum │ …  and more of these, each at a sector
//	-wal      header │ page number, size, sums, bytes │ …  a size other than 0 is a commit
//
// A page comes from the last of the file, the journal and the log that has it. The rules are
// those of SQLite's "Database File Format", sections 3 and 4, and of pager_playback and
// walIndexRecover in its source. A journal may end with the name of a super-journal, which ties
// several files together: without that file, the journal is not hot.

var journalMagic = string([]byte{0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7})

const (
	journalHeader = 28
	frameHeader   = 24
	logMagic      = 0x377f0682 // and 1 more where sums are of big-endian words
	logVersion    = 3007000
	// pendingByte is in the page that SQLite never uses.
	pendingByte = 0x40000000
	// mostSuperName bounds the name of a super-journal, in bytes.
	mostSuperName = 4096
)

// settledFile is a database as SQLite would settle it. It implements fs.FS with one file. It
// is closed after the last connection.
type settledFile struct {
	file, journal, log *os.File
	info               fs.FileInfo
	// size is that of the database; pageSize is 0 where each page is that of the file.
	size, pageSize int64
	// pages are the pages that come from beside the file, by their numbers.
	pages map[uint32]savedPage
	name  string
	vfs   *vfs.FS
}

// savedPage is where a page is.
type savedPage struct {
	in *os.File
	at int64
}

// openSettled reads what lies beside a database.
func openSettled(path string) (s *settledFile, err error) {
	s = &settledFile{pages: map[uint32]savedPage{}}
	defer func() {
		if err != nil {
			err = errors.Join(dropPath(err), s.close())
		}
	}()
	if s.file, err = os.Open(path); err != nil {
		return s, err
	}
	if s.info, err = s.file.Stat(); err != nil {
		return s, err
	}
	s.size = s.info.Size()
	if s.journal, err = openBeside(path + "-journal"); err == nil && s.journal != nil && isHot(s.journal) {
		err = s.rollBack()
	}
	if err != nil {
		return s, err
	}
	if s.log, err = openBeside(path + "-wal"); err == nil && s.log != nil {
		err = s.rollForward()
	}
	if err == nil {
		s.name, s.vfs, err = vfs.New(s)
	}
	return s, err
}

// openBeside opens a file; it returns nil if the file does not exist.
func openBeside(path string) (*os.File, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return file, err
}

// isHot reports whether a journal is still to be rolled back, as far as its super-journal tells.
func isHot(journal *os.File) bool {
	super := superJournal(journal)
	if super == "" {
		return true
	}
	_, err := os.Lstat(super)
	return !errors.Is(err, fs.ErrNotExist)
}

// superJournal returns the name of the super-journal that a journal ends with, "" if it has no such end.
func superJournal(journal *os.File) string {
	info, err := journal.Stat()
	if err != nil || info.Size() < 16 {
		return ""
	}
	end := make([]byte, 16)
	if _, err := journal.ReadAt(end, info.Size()-16); err != nil || string(end[8:]) != journalMagic {
		return ""
	}
	n, sum := int64(binary.BigEndian.Uint32(end)), binary.BigEndian.Uint32(end[4:])
	if n == 0 || n > mostSuperName || n > info.Size()-16 {
		return ""
	}
	name := make([]byte, n)
	if _, err := journal.ReadAt(name, info.Size()-16-n); err != nil {
		return ""
	}
	for _, c := range name {
		sum -= uint32(int32(int8(c)))
	}
	if sum != 0 {
		return ""
	}
	return string(name)
}

// rollBack finds the pages in the journal. A record that is torn ends it, as it does in SQLite.
func (s *settledFile) rollBack() error {
	info, err := s.journal.Stat()
	if err != nil {
		return err
	}
	end := info.Size()
	head := make([]byte, journalHeader)
	var record []byte
	var sector int64
	for at := int64(0); at+journalHeader <= end; {
		if _, err := s.journal.ReadAt(head, at); err != nil {
			return err
		}
		if string(head[:8]) != journalMagic {
			return nil
		}
		count, nonce := binary.BigEndian.Uint32(head[8:]), binary.BigEndian.Uint32(head[12:])
		if at == 0 {
			size := int64(binary.BigEndian.Uint32(head[24:]))
			if sector = int64(binary.BigEndian.Uint32(head[20:])); !isPower(sector, 32) || !isPower(size, 512) {
				return nil
			}
			s.pageSize, s.size = size, int64(binary.BigEndian.Uint32(head[16:]))*size
			record = make([]byte, size+8)
		}
		at += sector
		if most := max(end-at, 0) / int64(len(record)); count == 0xffffffff || int64(count) > most {
			count = uint32(most)
		}
		for range count {
			if _, err := s.journal.ReadAt(record, at); err != nil {
				return err
			}
			page, body := binary.BigEndian.Uint32(record), record[4:4+s.pageSize]
			if page == 0 || int64(page) == pendingByte/s.pageSize+1 || journalSum(body, nonce) != binary.BigEndian.Uint32(record[4+s.pageSize:]) {
				return nil
			}
			s.pages[page] = savedPage{s.journal, at + 4}
			at += int64(len(record))
		}
		at = (at + sector - 1) / sector * sector
	}
	return nil
}

// isPower reports whether n is a power of two from least to 65536.
func isPower(n, least int64) bool { return least <= n && n <= 65536 && n&(n-1) == 0 }

// journalSum returns the check sum of a page in a journal.
func journalSum(page []byte, nonce uint32) uint32 {
	for i := len(page) - 200; i > 0; i -= 200 {
		nonce += uint32(page[i])
	}
	return nonce
}

// rollForward finds the pages of the log up to its last commit.
func (s *settledFile) rollForward() error {
	head := make([]byte, logHeader)
	if _, err := s.log.ReadAt(head, 0); err != nil {
		return unlessEnd(err)
	}
	words := binary.ByteOrder(binary.LittleEndian)
	switch binary.BigEndian.Uint32(head) {
	case logMagic:
	case logMagic + 1:
		words = binary.BigEndian
	default:
		return nil
	}
	size := int64(binary.BigEndian.Uint32(head[8:]))
	sum := logSum{}.addWords(words, head[:24])
	if binary.BigEndian.Uint32(head[4:]) != logVersion || !isPower(size, 512) || !sum.equalsSum(head[24:]) {
		return nil
	}
	frame := make([]byte, frameHeader+size)
	var since map[uint32]savedPage // of a transaction that may not be committed
	for at := int64(logHeader); ; at += int64(len(frame)) {
		if _, err := s.log.ReadAt(frame, at); err != nil {
			return unlessEnd(err)
		}
		sum = sum.addWords(words, frame[:8]).addWords(words, frame[frameHeader:])
		page, committed := binary.BigEndian.Uint32(frame), binary.BigEndian.Uint32(frame[4:])
		if page == 0 || string(frame[8:16]) != string(head[16:24]) || !sum.equalsSum(frame[16:frameHeader]) {
			return nil
		}
		if since == nil {
			since = map[uint32]savedPage{}
		}
		if since[page] = (savedPage{s.log, at + frameHeader}); committed == 0 {
			continue
		}
		for page, saved := range since {
			s.pages[page] = saved
		}
		since = nil
		s.pageSize, s.size = size, int64(committed)*size
	}
}

// unlessEnd returns an error, nil for the end of a file.
func unlessEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// logSum is the check sum of a log up to a place.
type logSum [2]uint32

func (s logSum) addWords(words binary.ByteOrder, data []byte) logSum {
	for i := 0; i+8 <= len(data); i += 8 {
		s[0] += words.Uint32(data[i:]) + s[1]
		s[1] += words.Uint32(data[i+4:]) + s[0]
	}
	return s
}

func (s logSum) equalsSum(written []byte) bool {
	return s[0] == binary.BigEndian.Uint32(written) && s[1] == binary.BigEndian.Uint32(written[4:])
}

// ReadAt implements io.ReaderAt.
func (s *settledFile) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) && off < s.size {
		in, at, most := s.file, off, s.size-off
		if s.pageSize > 0 {
			if saved, ok := s.pages[uint32(off/s.pageSize+1)]; ok {
				in, at = saved.in, saved.at+off%s.pageSize
			}
			most = min(most, s.pageSize-off%s.pageSize)
		}
		part := p[n:min(int64(len(p)), int64(n)+most)]
		got, err := in.ReadAt(part, at)
		if unlessEnd(err) != nil {
			return n + got, err
		}
		clear(part[got:]) // the file may be shorter than it was
		n, off = n+len(part), off+int64(len(part))
	}
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}

// settledName is the name of the database in its settledFile.
const settledName = "database"

// Open implements fs.FS for SQLite, which asks for a journal and a log, too.
func (s *settledFile) Open(name string) (fs.File, error) {
	if name != settledName {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return opening{io.NewSectionReader(s, 0, s.size), s.info}, nil
}

// opening is one opening of a settledFile. It implements fs.File and fs.FileInfo.
type opening struct {
	*io.SectionReader
	fs.FileInfo
}

func (o opening) Stat() (fs.FileInfo, error) { return o, nil }
func (o opening) Size() int64                { return o.SectionReader.Size() }
func (o opening) Close() error               { return nil }

func (s *settledFile) close() (err error) {
	if s.vfs != nil {
		err = s.vfs.Close()
	}
	for _, beside := range []*os.File{s.journal, s.log} {
		if beside != nil {
			err = errors.Join(err, beside.Close())
		}
	}
	if s.file != nil {
		err = errors.Join(err, locks.closeFile(s.file))
	}
	return err
}

// withoutSuper returns an error where a journal names a super-journal: SQLite deletes the
// file of that name when it rolls the journal back, and any file may be named there.
func withoutSuper(path string) error {
	journal, err := openBeside(path + "-journal")
	if err != nil || journal == nil {
		return dropPath(err)
	}
	super := superJournal(journal)
	if err := journal.Close(); err != nil || super == "" {
		return err
	}
	return fmt.Errorf("%w, and to settle it would delete the file %q: start the agent that wrote it", ErrUnsettled, super)
}
