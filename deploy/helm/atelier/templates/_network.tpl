{{/* Who may connect to a service, and where it may connect to. */}}
{{- define "atelier.service.network" -}}
{{- $policy := .root.Values.networkPolicy -}}
{{- if $policy.enabled }}
{{- $health := index .spec.ports 0 }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: atelier-{{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "atelier.labels" . | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "atelier.selector" . | nindent 6 }}
  policyTypes: [Ingress, Egress]
  ingress:
    {{- with $policy.metricsFrom }}
    - from:
        {{- range . }}
        - namespaceSelector:
            {{- toYaml . | nindent 12 }}
        {{- end }}
      ports:
        - port: {{ $health.port }}
    {{- end }}
    {{- with .spec.calledBy }}
    - from:
        {{- range . }}
        - podSelector:
            matchLabels:
              {{- include "atelier.selector" (dict "root" $.root "name" .) | nindent 14 }}
        {{- end }}
      ports:
        - port: {{ $health.port }}
    {{- end }}
    {{- range $port := rest .spec.ports }}
    {{- if not (hasKey $port "from") }}
    # from everywhere
    - ports:
        - port: {{ $port.port }}
    {{- else if $port.from }}
    - from:
        {{- range $port.from }}
        - namespaceSelector:
            {{- toYaml . | nindent 12 }}
        {{- end }}
      ports:
        - port: {{ $port.port }}
    {{- end }}
    {{- end }}
  egress:
    - to:
        - namespaceSelector: {}
          podSelector:
            matchLabels:
              k8s-app: kube-dns
        # NodeLocal DNSCache
        - ipBlock:
            cidr: 169.254.20.10/32
      ports:
        - port: 53
          protocol: UDP
        - port: 53
    {{- with .spec.calls }}
    - to:
        {{- range . }}
        - podSelector:
            matchLabels:
              {{- include "atelier.selector" (dict "root" $.root "name" .) | nindent 14 }}
        {{- end }}
      ports:
        - port: 8080
    {{- end }}
    {{- if .spec.peers }}
    - to:
        - podSelector:
            matchLabels:
              {{- include "atelier.selector" . | nindent 14 }}
      ports:
        - port: {{ $health.port }}
    {{- end }}
    {{- range $to := .spec.egress }}
    {{- if eq $to "instances" }}
    - to:
        - namespaceSelector: {}
          podSelector:
            matchLabels:
              atelier.dev/role: instance
    {{- else }}
    {{- $target := get $policy $to }}
    # {{ $to }}
    - ports:
        {{- range $target.ports | default (list $.root.Values.database.port) }}
        - port: {{ . }}
        {{- end }}
      {{- with $target.cidrs }}
      to:
        {{- range . }}
        - ipBlock:
            cidr: {{ . }}
        {{- end }}
      {{- end }}
    {{- end }}
    {{- end }}
{{- end }}
{{- end -}}
