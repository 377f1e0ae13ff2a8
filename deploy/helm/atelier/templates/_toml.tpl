{{/* A key: bare where TOML allows it. */}}
{{- define "atelier.toml.key" -}}
{{- if regexMatch "^[A-Za-z0-9_-]+$" . }}{{ . }}{{ else }}{{ toJson . }}{{ end -}}
{{- end -}}

{{/*
TOML of a value. Numbers of values files are floats for Helm, and its own toToml writes them as such; services want integers.
*/}}
{{- define "atelier.toml.value" -}}
{{- if kindIs "map" . -}}
{ {{- range $n, $key := keys . | sortAlpha -}}
{{- if $n }},{{ end }} {{ include "atelier.toml.key" $key }} = {{ include "atelier.toml.value" (get $ $key) }}
{{- end }} }
{{- else if kindIs "slice" . -}}
[
{{- range $n, $item := . -}}
{{- if $n }}, {{ end }}{{ include "atelier.toml.value" $item }}
{{- end -}}
]
{{- else if and (kindIs "float64" .) (eq (floor .) .) -}}
{{ printf "%.0f" . }}
{{- else -}}
{{ toJson . }}
{{- end -}}
{{- end -}}

{{/* A configuration file: plain keys, then a section for each map. */}}
{{- define "atelier.toml" -}}
{{- range $key := keys . | sortAlpha -}}
{{- $value := get $ $key -}}
{{- if not (or (kindIs "map" $value) (kindIs "invalid" $value)) -}}
{{ include "atelier.toml.key" $key }} = {{ include "atelier.toml.value" $value }}
{{ end -}}
{{- end -}}
{{- range $section := keys . | sortAlpha -}}
{{- $values := get $ $section -}}
{{- if kindIs "map" $values }}
[{{ include "atelier.toml.key" $section }}]
{{ range $key := keys $values | sortAlpha -}}
{{- $value := get $values $key -}}
{{- if not (kindIs "invalid" $value) -}}
{{ include "atelier.toml.key" $key }} = {{ include "atelier.toml.value" $value }}
{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
