{{/* Names, labels and parts of configurations that several services have. */}}

{{/* Fails where the chart cannot work. Other namespaces are impossible: the operator's is part of its code. */}}
{{- define "atelier.check" -}}
{{- if ne .Release.Namespace "atelier-system" -}}
{{- fail "install the chart into the namespace atelier-system: --namespace atelier-system --create-namespace" -}}
{{- end -}}
{{- if and .Values.gateway.enabled .Values.gateway.tls.enabled (not (hasPrefix "https://" .Values.publicUrl)) -}}
{{- fail "gateway.tls.enabled needs a publicUrl that begins with https://" -}}
{{- end -}}
{{- if and .Values.gpu.logArchive.bucket (not .Values.objectStore.endpoint) -}}
{{- fail "gpu.logArchive.bucket needs objectStore.endpoint" -}}
{{- end -}}
{{- if and .Values.jobs.fleet.enabled (not .Values.jobs.fleet.jobsUrl) -}}
{{- fail "jobs.fleet.enabled needs jobs.fleet.jobsUrl" -}}
{{- end -}}
{{- if and .Values.backup.enabled (not .Values.database.provision.existingReaderSecret) -}}
{{- fail "backup.enabled needs database.provision.existingReaderSecret" -}}
{{- end -}}
{{- end -}}

{{/* The services, as platform.toml lists them. */}}
{{- define "atelier.platform" -}}
{{- .Files.Get "files/platform.yaml" -}}
{{- end -}}

{{/* What the list says of a service: dict "root" "name". */}}
{{- define "atelier.listed" -}}
{{- range (include "atelier.platform" .root | fromYaml).services -}}
{{- if eq .name $.name -}}
{{- toYaml . -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The labels of the pods of a service: dict "root" "name". The operator lets `atelier-gateway` reach instances. */}}
{{- define "atelier.selector" -}}
app.kubernetes.io/name: atelier-{{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end -}}

{{- define "atelier.labels" -}}
{{ include "atelier.selector" . }}
app.kubernetes.io/part-of: atelier
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: atelier-{{ .root.Chart.Version }}
{{- end -}}

{{- define "atelier.image" -}}
{{ .root.Values.image.repository }}/{{ .name }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- end -}}

{{- define "atelier.url" -}}
http://atelier-{{ . }}:8080
{{- end -}}

{{- define "atelier.database.url" -}}
{{- $database := .Values.database -}}
{{- $authority := ternary "&sslrootcert=/etc/atelier/postgres/ca.crt" "" (ne $database.caSecret "") -}}
postgres://{{ $database.host }}:{{ $database.port }}/{{ $database.name }}?sslmode={{ $database.sslMode }}{{ $authority }}
{{- end -}}

{{/* Section `auth`: whose tokens are accepted, and where their revocations are read. */}}
{{- define "atelier.auth" -}}
auth:
  issuer: {{ .Values.publicUrl }}
  jwks_url: {{ include "atelier.url" "identity" }}/.well-known/jwks.json
  revocations:
    url: {{ include "atelier.url" "identity" }}
{{- end -}}

{{/* Section `clusters`. */}}
{{- define "atelier.clusters" -}}
clusters:
  {{- range $name, $cluster := .Values.clusters }}
  {{ $name }}:
    {{- if $cluster.existingSecret }}
    kubeconfig: /etc/atelier/clusters/{{ $name }}/kubeconfig
    {{- else }} {}
    {{- end }}
  {{- end }}
{{- end -}}

{{/* A variable from a Secret: dict "variable" "secret" "key". */}}
{{- define "atelier.env" -}}
- name: {{ .variable }}
  valueFrom:
    secretKeyRef:
      name: {{ .secret }}
      key: {{ .key }}
{{- end -}}

{{/* Passwords of a service's roles: dict "root" "name" "roles". */}}
{{- define "atelier.env.database" -}}
{{- $root := .root -}}
{{- $secret := printf "%s-%s" .root.Values.database.existingSecretPrefix .name -}}
{{- range .roles }}
{{ include "atelier.env" (dict "variable" (printf "ATELIER_DATABASE__%s_PASSWORD" (upper .)) "secret" $secret "key" (printf "%s-password" .)) }}
{{- end -}}
{{- end -}}

{{/* Tokens: dict "root" and "tokens", variable → name of the caller. */}}
{{- define "atelier.env.tokens" -}}
{{- $secret := .root.Values.tokens.existingSecret -}}
{{- range $variable, $caller := .tokens }}
{{ include "atelier.env" (dict "variable" $variable "secret" $secret "key" $caller) }}
{{- end -}}
{{- end -}}
