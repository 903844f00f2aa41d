package pg_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hindcast/store/media/pg"
	"hindcast/store/media/pg/pgtest"
)

// A URL says how the connection is protected, as libpq reads it: the server has to prove who it is, or is
// not spoken to.
func TestTLS(t *testing.T) {
	c := pgtest.New(t)
	plain := c.Database(t)
	certificate, key := certified(t)
	c.Secure(t, certificate, key)
	root, another := filepath.Join(t.TempDir(), "root.pem"), filepath.Join(t.TempDir(), "another.pem")
	other, _ := certified(t)
	for path, text := range map[string][]byte{root: certificate, another: other} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, at := range map[string]struct {
		host, root, mode string
		secure           bool
		want             error
	}{
		"proven":             {"127.0.0.1", root, "verify-full", true, nil},
		"not asked":          {"127.0.0.1", "", "prefer", true, nil},
		"without":            {"127.0.0.1", "", "disable", false, nil},
		"by another":         {"127.0.0.1", another, "verify-full", false, pg.ErrUnreachable},
		"of another name":    {"localhost", root, "verify-full", false, pg.ErrUnreachable},
		"the name unchecked": {"localhost", root, "verify-ca", true, nil},
	} {
		u, err := url.Parse(plain)
		if err != nil {
			t.Fatal(err)
		}
		u.Host = net.JoinHostPort(at.host, u.Port())
		query := url.Values{"sslmode": {at.mode}}
		if at.root != "" {
			query.Set("sslrootcert", at.root)
		}
		u.RawQuery = query.Encode()
		s, err := pg.New(u.String())
		if err != nil {
			t.Fatal(err)
		}
		secure := false
		err = s.Read(t.Context(), func(tx *pg.Tx) error {
			return tx.Row(t.Context(), "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").Scan(&secure)
		})
		if !errors.Is(err, at.want) || secure != at.secure {
			t.Errorf("%s: TLS %t, %v", name, secure, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// certified returns a certificate of 127.0.0.1 that vouches for itself, and its key.
func certified(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "127.0.0.1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, about, about, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}
