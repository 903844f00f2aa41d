package redact_test

import (
	"encoding/json"
	"strings"
	"testing"

	"hindcast/redact"
)

// redactedText returns a text of a message, and one that is the argument of a call, without their secrets.
func redactedText(t *testing.T, text string) (message, argument string) {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	in := `{"messages":[{"role":"user","content":[{"text":` + string(quoted) + `}]},{"role":"assistant","content":[{"toolUse":{"name":"run","input":{"command":` + string(quoted) + `}}}]}]}`
	out, _ := hidden(t, redact.Options{}, in)
	var state struct {
		Messages []struct {
			Content []struct {
				Text    string
				ToolUse struct{ Input struct{ Command string } }
			}
		}
	}
	if err := json.Unmarshal([]byte(out[0]), &state); err != nil {
		t.Fatal(err)
	}
	return state.Messages[0].Content[0].Text, state.Messages[1].Content[0].ToolUse.Input.Command
}

const base64url = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// What a session of code has beside secrets stays: marks of keys, types, templates, rules, words of a
// form, ids in addresses.
func TestText_keepsCode(t *testing.T) {
	for _, text := range []string{
		`assert block.startswith("-----BEGIN RSA PRIVATE KEY-----") and block.strip()`,
		"if strings.Contains(s, \"-----BEGIN OPENSSH PRIVATE KEY-----\") {\n\treturn true\n}\nreturn strings.HasSuffix(s, \"-----END OPENSSH PRIVATE KEY-----\")",
		"The file begins with -----BEGIN PRIVATE KEY----- in its first line.\nOtherwise the loader refuses it.",
		"-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
		`val token: String? = store.getString("auth_token", null)`,
		`var password: String?`,
		"headers: { Authorization: `Bearer ${token}`, Accept: \"*/*\" }",
		"headers.set(\"Authorization\", `Basic ${btoa(name + \":\" + code)}`)",
		`string s = "Host=" + host + ";Password=" + builder.Password + ";";`,
		`'password' => 'required|string|min:8|confirmed',`,
		"Password string `validate:\"required,min=8,max=72\"`",
		`"login.password": "Passwort",`,
		`"confirmPassword": "Confirm password",`,
		"see https://docs.google.com/document/d/1NcKKMTvkC7xW2yQpR8sT4uV6wX0yZ2aB4cD6eF8gH0/edit",
		"see https://www.notion.so/acme/Roadmap-3f58c8d8a1b24c6d8e0f2a4b6c8d0e1f?pvs=4",
		"ocid1.instance.oc1.eu-frankfurt-1.anss2fr45tzq3xw7yvb6um5np4kj2hg3fd4sa5qw6er7ty8ui9op",
		"gAAAAABk" + alphabet(1, 300, base64url) + "-sk-AC8p9XnW2tYq7RvLm4Kd6Zs1Bf0Hj5Gc3QeTuIoP" + alphabet(2, 300, base64url),
		"it is in build-cache-e4edbfe3c1d5a7b9f0e2d4c6b8a0f1e3 now",
		"github.com/x/y v1.2.3 h1:/pu1UxQwuKCyFvD8e2R4t6Y8u0I2o4P6a8S0d2F4g6H=",
	} {
		message, argument := redactedText(t, text)
		if message != text {
			t.Errorf("%s\nbecomes\n%s", text, message)
		}
		if argument != text {
			t.Errorf("as an argument %s\nbecomes\n%s", text, argument)
		}
	}
}

// A secret is hidden in the words of the program that it is given to.
func TestText_hidesArguments(t *testing.T) {
	key := strings.Repeat("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZn", 3)
	for text, secret := range map[string]string{
		"users:\n- name: admin\n  user:\n    client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQ" + key: "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQ" + key,
		`define( 'DB_PASSWORD', 'mX8(kd0s!v2' );`:                                                         "mX8(kd0s!v2",
		`$pw = ConvertTo-SecureString "Sp!tzer_Berg7" -AsPlainText -Force`:                                "Sp!tzer_Berg7",
		`wandb login 8e0ad2bf2440593b9a7053954e8578962d05257a`:                                            "8e0ad2bf2440593b9a7053954e8578962d05257a",
		`keytool -genkeypair -keystore a.jks -storepass Erle-am-Bach -alias a`:                            "Erle-am-Bach",
		`signingConfigs { release { keyPassword "b1rkenWald" } }`:                                         "b1rkenWald",
		`gpg --batch --passphrase "lange Nacht im Hafen 7" --decrypt a.gpg`:                               "lange Nacht im Hafen 7",
		`echo "deploy:Weiher#Nord2" | chpasswd`:                                                           "Weiher#Nord2",
		`<property name="hibernate.connection.password">Silber_Fisch3</property>`:                         "Silber_Fisch3",
		"<key>Password</key>\n\t<string>Blaumeise.9</string>":                                             "Blaumeise.9",
		`htpasswd -bB users.htpasswd kd M0orhuhn!`:                                                        "M0orhuhn!",
		"expect \"password:\"\nsend \"Fuchsbau_10\\r\"":                                                   "Fuchsbau_10",
		`smtp.login("kd@example.org", "cgli hocg tsix ixps")`:                                             "cgli hocg tsix ixps",
		"Password for the [elastic] user successfully reset.\nNew value: 8aXgk23Btd_p":                    "8aXgk23Btd_p",
		`password = "Xk3(9vLq2)zP"`:                                                                       "Xk3(9vLq2)zP",
		"-----BEGIN EC PRIVATE KEY-----\n" + key[:64] + "\n" + key[64:100] + "\nand here the output ends": key[:64] + "\n" + key[64:100],
	} {
		message, argument := redactedText(t, text)
		if strings.Contains(message, secret) || strings.Contains(argument, secret) {
			t.Errorf("%s\nbecomes\n%s\nand\n%s", text, message, argument)
		}
		if end := "and here the output ends"; strings.Contains(text, end) && !strings.Contains(message, end) {
			t.Errorf("what is behind a key goes with it: %s", message)
		}
	}
}

// A secret in the arguments of a call is told by what stands beside it: the flag before it, the field
// into which it is typed.
func TestState_besideItsName(t *testing.T) {
	for _, arguments := range []string{
		`{"args":["--password","Steinbock_15x"]}`,
		`{"argv":["mysql","--user","kd","--password","Steinbock_15x","shop"]}`,
		`{"field":"password","text":"Steinbock_15x"}`,
		`{"selector":"#password","value":"Steinbock_15x"}`,
		`{"element":"Password field","ref":"e12","text":"Steinbock_15x"}`,
		`{"selector":"input[name=password]","text":"Steinbock_15x"}`,
		`{"passwords":["Steinbock_15x"]}`,
		`{"vars":{"db_password":{"value":"Steinbock_15x"}}}`,
	} {
		in := `{"messages":[{"role":"assistant","content":[{"toolUse":{"name":"run","input":` + arguments + `}}]}]}`
		if out, _ := hidden(t, redact.Options{}, in); strings.Contains(out[0], "Steinbock_15x") {
			t.Errorf("%s\nbecomes\n%s", arguments, out[0])
		}
	}
	for _, arguments := range []string{
		`{"args":["--password-file","notes.txt","--verbose"]}`,
		`{"selector":"#search","value":"Steinbock_15x"}`,
		`{"element":"Search field","ref":"e12","text":"Steinbock_15x"}`,
	} {
		in := `{"messages":[{"role":"assistant","content":[{"toolUse":{"name":"run","input":` + arguments + `}}]}]}`
		if out, _ := hidden(t, redact.Options{}, in); out[0] != in {
			t.Errorf("%s\nbecomes\n%s", arguments, out[0])
		}
	}
}

// What stands beside a value is looked at once, however many values there are: these would take hours.
func TestState_manyBeside(t *testing.T) {
	for _, state := range []string{
		`{"args":[` + strings.TrimSuffix(strings.Repeat(`"word",`, 300_000), ",") + `]}`,
		`{` + strings.TrimSuffix(strings.Repeat(`"text":"word","value":"other",`, 150_000), ",") + `}`,
	} {
		if out, _ := hidden(t, redact.Options{}, state); out[0] != state {
			t.Errorf("it becomes %.200s", out[0])
		}
	}
}
