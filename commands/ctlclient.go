package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/pkg/admin"
	"github.com/mysqlrw/mysqlrw/pkg/config"
)

const (
	// adminURL is the variable that says where the proxy of ctl is.
	adminURL     = "MYSQLRW_ADMIN"
	defaultAdmin = "http://" + config.DefaultAdmin
	ctlTimeout   = 30 * time.Second
)

// ctl asks one running proxy.
type ctl struct {
	env   *environment
	c     *cli.Context
	base  string
	token string
}

func newCtl(env *environment, c *cli.Context) (*ctl, error) {
	base := firstOf(c.String("admin"), env.getenv(adminURL), defaultAdmin)
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, usagef("--admin: %q is no URL such as %s", base, defaultAdmin)
	}
	k := &ctl{env: env, c: c, base: strings.TrimSuffix(base, "/"), token: env.getenv(adminToken)}
	if c.String("token-file") != "" {
		k.token, err = firstLine(c, "token-file")
	}
	return k, err
}

func (k *ctl) get(ctx context.Context, what string, into any) error {
	return k.ask(ctx, http.MethodGet, what, nil, into)
}

// ask sends one request. into is nil where the answer has no body.
func (k *ctl) ask(ctx context.Context, method, what string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, ctlTimeout)
	defer cancel()
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, k.base+"/api/v1/"+what, bytes.NewReader(text))
	if err != nil {
		return usagef("%w", err)
	}
	if k.token != "" {
		r.Header.Set("Authorization", "Bearer "+k.token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return cannotTell(fmt.Errorf("%s: %w: is the proxy running, with [admin] in its file or --admin?", k.base, err))
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusBadRequest {
		return k.refused(answer)
	}
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		return cannotTell(fmt.Errorf("%s: the answer is not one of a proxy: %w", k.base, err))
	}
	return nil
}

// refused makes an error of an answer that is one.
func (k *ctl) refused(answer *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return cannotTell(err)
	}
	var f admin.Failure
	if json.Unmarshal(text, &f) != nil || f.Error == "" {
		return cannotTell(fmt.Errorf("%s answers %s, as no proxy does", k.base, answer.Status))
	}
	var all strings.Builder
	all.WriteString(f.Error)
	for _, p := range f.Problems {
		all.WriteString("\n" + p.String())
	}
	return usagef("%s", all.String())
}
