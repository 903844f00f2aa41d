package printable

import "strings"

// hidden replaces the secret part of a shown address.
const hidden = "***"

// secretParameters are parts of the names of parameters whose values are credentials.
var secretParameters = []string{"password", "passwd", "token", "secret", "key", "credential", "signature"}

// Addresses returns a text without the credentials of the addresses in it: the password of
// user:password@host, all that stands before @ where a user alone is a credential, and the
// values of parameters such as token. Every message that may hold an address passes through it.
func Addresses(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	var out strings.Builder
	for {
		at := strings.Index(text, "://")
		if at < 0 {
			out.WriteString(text)
			return out.String()
		}
		begin := at
		for begin > 0 && isSchemeByte(text[begin-1]) {
			begin--
		}
		end := strings.IndexAny(text[at+3:], " \t\r\n\"'`<>")
		if end < 0 {
			end = len(text) - at - 3
		}
		rest := text[at+3 : at+3+end]
		out.WriteString(text[:at+3])
		out.WriteString(hideParameters(hideUser(strings.ToLower(text[begin:at]), rest)))
		text = text[at+3+end:]
	}
}

func isSchemeByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'
}

// hideUser hides the credentials before the host. A password may have a / that is not escaped,
// so that the @ behind it is the last one; a number behind : is the port of a host.
func hideUser(scheme, rest string) string {
	authority, _, _ := strings.Cut(rest, "/")
	user, behind, colon := strings.Cut(authority, ":")
	at := strings.LastIndexByte(authority, '@')
	if at < 0 && colon && !isPort(behind) {
		at = strings.LastIndexByte(rest, '@')
	}
	switch {
	case at < 0:
		return rest
	case scheme == "s3":
		return hidden + rest[at:]
	case colon && len(user) < at:
		return user + ":" + hidden + rest[at:]
	case scheme == "http", scheme == "https":
		return hidden + rest[at:]
	}
	return rest
}

func isPort(text string) bool {
	return strings.Trim(text, "0123456789") == ""
}

// hideParameters hides the values of parameters that are credentials.
func hideParameters(rest string) string {
	head, query, found := strings.Cut(rest, "?")
	if !found {
		return rest
	}
	parameters := strings.Split(query, "&")
	for i, parameter := range parameters {
		name, _, valued := strings.Cut(parameter, "=")
		for _, part := range secretParameters {
			if valued && strings.Contains(strings.ToLower(name), part) {
				parameters[i] = name + "=" + hidden
			}
		}
	}
	return head + "?" + strings.Join(parameters, "&")
}
