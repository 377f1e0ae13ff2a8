{{/*
Parts of pods. None has a shell, a writable root file system or privileges.
*/}}

{{- define "atelier.pod.security" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "atelier.container.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Volumes of a service: dict "root" "spec" "configMap". */}}
{{- define "atelier.volumes" -}}
{{- $values := .root.Values -}}
- name: config
  configMap:
    name: {{ .configMap }}
{{- if and .spec.stateful $values.database.caSecret }}
- name: postgres
  secret:
    secretName: {{ $values.database.caSecret }}
{{- end }}
{{- if $values.caSecret }}
- name: authorities
  secret:
    secretName: {{ $values.caSecret }}
{{- end }}
{{- if .spec.clusters }}
{{- range $name, $cluster := $values.clusters }}
{{- if $cluster.existingSecret }}
- name: cluster-{{ $name }}
  secret:
    secretName: {{ $cluster.existingSecret }}
{{- end }}
{{- end }}
{{- end }}
{{- with .spec.tlsSecret }}
- name: tls
  secret:
    secretName: {{ . }}
{{- end }}
{{- end -}}

{{- define "atelier.mounts" -}}
{{- $values := .root.Values -}}
- name: config
  mountPath: /etc/atelier/config
  readOnly: true
{{- if and .spec.stateful $values.database.caSecret }}
- name: postgres
  mountPath: /etc/atelier/postgres
  readOnly: true
{{- end }}
{{- if $values.caSecret }}
- name: authorities
  mountPath: /etc/atelier/authorities
  readOnly: true
{{- end }}
{{- if .spec.clusters }}
{{- range $name, $cluster := $values.clusters }}
{{- if $cluster.existingSecret }}
- name: cluster-{{ $name }}
  mountPath: /etc/atelier/clusters/{{ $name }}
  readOnly: true
{{- end }}
{{- end }}
{{- end }}
{{- if .spec.tlsSecret }}
- name: tls
  mountPath: /etc/atelier/tls
  readOnly: true
{{- end }}
{{- end -}}

{{/* Variables of a service: dict "root" "spec" "roles" (of the database). */}}
{{- define "atelier.variables" -}}
{{- $spec := .spec -}}
- name: RUST_LOG
  value: {{ $spec.values.logLevel | quote }}
{{- if .root.Values.caSecret }}
- name: SSL_CERT_FILE
  value: /etc/atelier/authorities/ca.crt
{{- end }}
{{- if $spec.stateful }}
{{- include "atelier.env.database" (dict "root" .root "name" $spec.name "roles" .roles) }}
{{- end }}
{{- include "atelier.env.tokens" (dict "root" .root "tokens" $spec.tokens) }}
{{- range $spec.secrets }}
{{ include "atelier.env" . }}
{{- end }}
{{- end -}}

{{/* The program of a service: dict "root" "spec" "command". */}}
{{- define "atelier.program" -}}
image: {{ include "atelier.image" (dict "root" .root "name" .spec.name) }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
args: [{{ .command }}, --config, /etc/atelier/config/config.toml]
securityContext:
  {{- include "atelier.container.security" . | nindent 2 }}
{{- end -}}
