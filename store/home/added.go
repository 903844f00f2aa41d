package home

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hindcast/model/printable"
	"hindcast/store"
)

// Added is the file with the addresses of the stores that a person added. It may be edited by hand: an address is
// a line, an empty line and one that begins with # mean nothing.
//
//	# the agents in production
//	s3://agents/sessions
//	postgres://reader@db.example/agents
//	~/backup/.claude/projects
//
// It holds no credentials: an address with a password is not opened. The zero value has no addresses and no place for any.
type Added struct {
	// File is the path of the file, Home the folder that ~ stands for.
	File, Home string
}

// mostAdded bounds the file, in bytes.
const mostAdded = 1 << 20

var (
	// ErrCredentials: an address has credentials in it.
	ErrCredentials = errors.New("it has credentials in it: give them by PGPASSWORD, ~/.pgpass or the configuration of AWS")
	// ErrNoFile: there is no folder of settings, so that nothing can be added.
	ErrNoFile = errors.New("there is no folder for settings: set XDG_CONFIG_HOME or HOME")
	// ErrNotAdded: a person added no such address.
	ErrNotAdded = errors.New("no such address was added")
)

// Addresses returns the addresses in the file, in its order. A missing file is empty.
func (a Added) Addresses() (list []string, err error) {
	lines, err := a.readLines()
	for _, line := range lines {
		if address := a.addressIn(line); address != "" {
			list = append(list, address)
		}
	}
	return list, err
}

// readLines returns the lines of the file.
func (a Added) readLines() ([]string, error) {
	if a.File == "" {
		return nil, nil
	}
	info, err := os.Stat(a.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && (!info.Mode().IsRegular() || info.Size() > mostAdded):
		err = errors.New("it is no file, or has more than 1 MB")
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(a.File)
	}
	if err != nil {
		return nil, fmt.Errorf("read the stores that were added, %s: %w", a.File, err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), nil
}

// addressIn returns the address of a line, "" for a comment.
func (a Added) addressIn(line string) string {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "#") {
		return ""
	}
	if below, is := strings.CutPrefix(line, "~/"); is && a.Home != "" {
		return filepath.Join(a.Home, below)
	}
	return line
}

// CheckAddress returns the form in which an address is added, with the path of a file whole, and its identity.
// The error is ErrCredentials, or that of Identify.
func CheckAddress(ctx context.Context, kinds store.Kinds, address string) (string, *store.Identity, error) {
	if printable.Addresses(address) != address {
		return "", nil, ErrCredentials
	}
	id, err := kinds.Identify(ctx, address)
	if err != nil || strings.Contains(address, "://") {
		return address, id, err
	}
	prefix := strings.TrimSuffix(address, id.At)
	whole, err := filepath.Abs(id.At)
	switch {
	case err != nil:
		return "", nil, err
	case strings.ContainsAny(whole, "\r\n"):
		return "", nil, fmt.Errorf("add %q: an address is one line", address)
	}
	return prefix + whole, id, nil
}

// AddAddress writes an address behind the others. It reports whether it was not there before.
func (a Added) AddAddress(address string) (bool, error) {
	lines, err := a.readLines()
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(lines, func(line string) bool { return a.addressIn(line) == address }) {
		return false, nil
	}
	return true, a.writeLines(append(lines, address))
}

// RemoveAddress takes away the lines of an address, which may also be written as in the file. The error is ErrNotAdded
// for an unknown address.
func (a Added) RemoveAddress(address string) error {
	lines, err := a.readLines()
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		is := a.addressIn(line)
		return is != "" && (is == address || strings.TrimSpace(line) == address)
	})
	if len(left) == len(lines) {
		return ErrNotAdded
	}
	return a.writeLines(left)
}

// writeLines replaces the file by one of other lines, which its owner alone can read.
func (a Added) writeLines(lines []string) error {
	if a.File == "" {
		return ErrNoFile
	}
	file, err := filepath.EvalSymlinks(a.File) // a link stays a link
	if err != nil {
		file = a.File
	}
	err = os.MkdirAll(filepath.Dir(file), 0o700)
	if err == nil {
		err = replaceFile(file, strings.Join(lines, "\n")+"\n")
	}
	if err != nil {
		return fmt.Errorf("write the stores that are added: %w", err)
	}
	return nil
}

// replaceFile writes a text to a new file and renames that to file.
func replaceFile(file, text string) error {
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*") // its mode is 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
