package admin

import (
	"reflect"
	"strings"
	"time"
)

// openAPI describes the routes, from the routes and the types of their bodies.
func (s *Server) openAPI() map[string]any {
	schemas := map[string]any{}
	paths := map[string]map[string]any{}
	for _, r := range s.endpoints() {
		if !strings.HasPrefix(r.path, "/api/") && r.access != open {
			continue
		}
		ok := map[string]any{"description": "done"}
		if r.gives != nil {
			ok["content"] = body(schemaOf(reflect.TypeOf(r.gives), schemas))
		}
		operation := map[string]any{
			"summary":   r.summary,
			"responses": map[string]any{"200": ok, "default": map[string]any{"description": "what is wrong", "content": body(schemaOf(reflect.TypeFor[Failure](), schemas))}},
		}
		if r.takes != nil {
			operation["requestBody"] = map[string]any{"required": true, "content": body(schemaOf(reflect.TypeOf(r.takes), schemas))}
		}
		var parameters []any
		for _, part := range strings.Split(r.path, "/") {
			if name, is := strings.CutPrefix(part, "{"); is {
				parameters = append(parameters, map[string]any{
					"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": map[string]any{"type": "string"},
				})
			}
		}
		if parameters != nil {
			operation["parameters"] = parameters
		}
		if r.access != open {
			operation["security"] = []any{map[string]any{"token": []any{}}}
		}
		if paths[r.path] == nil {
			paths[r.path] = map[string]any{}
		}
		paths[r.path][strings.ToLower(r.method)] = operation
	}
	return map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "mysqlrw admin", "version": "1",
			"description": "Looking needs the token only where others than this machine reach the address; changing always does.",
		},
		"paths": paths,
		"components": map[string]any{
			"schemas":         schemas,
			"securitySchemes": map[string]any{"token": map[string]any{"type": "http", "scheme": "bearer"}},
		},
	}
}

func body(schema any) any {
	return map[string]any{"application/json": map[string]any{"schema": schema}}
}

// schemaOf describes a type; those with a name go into schemas.
func schemaOf(t reflect.Type, schemas map[string]any) map[string]any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t.Kind() == reflect.Pointer:
		inner := schemaOf(t.Elem(), schemas)
		inner["type"] = []any{inner["type"], "null"}
		return inner
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem(), schemas)}
	case t.Kind() == reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem(), schemas)}
	case t.Kind() == reflect.Struct:
		name := t.Name()
		if _, there := schemas[name]; !there {
			schemas[name] = nil // for types that have themselves in them
			properties, required := map[string]any{}, []string{}
			for f := range fields(t) {
				key, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
				properties[key] = schemaOf(f.Type, schemas)
				if rest != "omitempty" {
					required = append(required, key)
				}
			}
			schemas[name] = map[string]any{"type": "object", "properties": properties, "required": required}
		}
		return map[string]any{"$ref": "#/components/schemas/" + name}
	}
	kinds := map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "boolean", reflect.Float64: "number",
		reflect.Int: "integer", reflect.Uint32: "integer", reflect.Uint64: "integer",
	}
	return map[string]any{"type": kinds[t.Kind()]}
}

func fields(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}
