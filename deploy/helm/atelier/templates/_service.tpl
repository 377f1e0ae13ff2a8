{{/*
All objects of a service. What files/platform.yaml says of it is set here: its schema, clusters, cache, tokens and callers. Besides,
a dict with
  root        the chart
  name        the service, and the folder of its image
  config      what else the chart sets in its configuration
  tokens      further variables → caller whose token it is
  secrets     list of dict "variable" "secret" "key"
  rbac        it has rights in clusters: files/rbac has its service account. So has a service with clusters
  ports       list of dict "name" "port" "from"; the first is that of health checks and metrics. `from` are the selectors of the
              namespaces that may connect; without it everyone may
  services    list of dict "name" "type" "annotations" "ports": Services besides the internal one
  calledBy    services that call it, if others do than its callers and the gateway
  calls       services that it calls, if not all that the list says
  peers       whether its replicas call each other
  egress      what else it connects to: names below networkPolicy
  tlsSecret   certificate, mounted
  drain       seconds for which it goes on serving by itself after SIGTERM
*/}}
{{- define "atelier.service" -}}
{{- $root := .root -}}
{{- $listed := include "atelier.listed" . | fromYaml -}}
{{- $own := get $root.Values .name | default dict -}}
{{- if dig "enabled" true $own -}}
{{- include "atelier.check" $root -}}
{{- $values := mergeOverwrite (deepCopy $root.Values.defaults) (deepCopy $own) -}}
{{- $config := dict "listen" "0.0.0.0:8080" -}}
{{- $tokens := dict -}}
{{- $egress := list -}}
{{- if $listed.schema -}}
{{- $_ := set $config "database" (dict "url" (include "atelier.database.url" $root)) -}}
{{- $egress = append $egress "postgres" -}}
{{- if ne .name "identity" -}}
{{- $config = merge $config (include "atelier.auth" $root | fromYaml) -}}
{{- $_ := set $tokens "ATELIER_AUTH__REVOCATIONS__TOKEN" .name -}}
{{- end -}}
{{- end -}}
{{- $inCluster := .rbac | default false -}}
{{- if $listed.clusters -}}
{{- $config = merge $config (include "atelier.clusters" $root | fromYaml) -}}
{{- $egress = append $egress "kubernetes" -}}
{{- $inCluster = false -}}
{{- range $root.Values.clusters -}}
{{- if not .existingSecret -}}
{{- $inCluster = true -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $listed.callers -}}
{{- $_ := set $tokens (printf "ATELIER_CALLERS__%s" (upper .)) . -}}
{{- end -}}
{{- range $listed.endpoints -}}
{{- $_ := set $config . (dict "url" (include "atelier.url" .)) -}}
{{- $_ := set $tokens (printf "ATELIER_%s__TOKEN" (upper .)) $listed.name -}}
{{- end -}}
{{- $config = mergeOverwrite $config (deepCopy (.config | default dict)) (deepCopy ($values.config | default dict)) -}}
{{- $secrets := .secrets | default list -}}
{{- if $listed.encrypts -}}
{{- with $values.existingSecret -}}
{{- $secrets = prepend $secrets (dict "variable" "ATELIER_ENCRYPTION_KEYS" "secret" . "key" "encryption-keys") -}}
{{- end -}}
{{- end -}}
{{- $egress = concat $egress (.egress | default list) -}}
{{- if and $listed.cache $root.Values.cache.enabled -}}
{{- range $variable, $key := dict "ATELIER_CACHE__URL" "cache-url" "ATELIER_CACHE__KEY" "cache-key" -}}
{{- $secrets = append $secrets (dict "variable" $variable "secret" $root.Values.cache.existingSecret "key" $key) -}}
{{- end -}}
{{- $egress = append $egress "cache" -}}
{{- end -}}
{{- $derived := dict
  "values" $values
  "toml" (include "atelier.toml" $config)
  "inCluster" $inCluster
  "stateful" $listed.schema
  "clusters" $listed.clusters
  "tokens" (merge $tokens (.tokens | default dict))
  "secrets" $secrets
  "egress" $egress
-}}
{{- $usual := dict
  "rbac" $listed.clusters
  "ports" (list (dict "name" "http" "port" 8080))
  "calledBy" (uniq (prepend $listed.callers "gateway"))
  "calls" $listed.calls
-}}
{{- $spec := merge $derived . $usual -}}
{{- $scope := dict "root" $root "spec" $spec "name" .name -}}
{{- include "atelier.service.config" $scope -}}
{{- include "atelier.service.deployment" $scope -}}
{{- include "atelier.service.availability" $scope -}}
{{- include "atelier.service.network" $scope -}}
{{- include "atelier.service.monitor" $scope -}}
{{- if $listed.schema -}}
{{- include "atelier.service.migration" $scope -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "atelier.service.config" -}}
{{- if not .spec.rbac }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: atelier-{{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "atelier.labels" . | nindent 4 }}
automountServiceAccountToken: false
{{- end }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: atelier-{{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "atelier.labels" . | nindent 4 }}
data:
  config.toml: |
    {{- .spec.toml | nindent 4 }}
---
apiVersion: v1
kind: Service
metadata:
  name: atelier-{{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "atelier.labels" . | nindent 4 }}
    atelier.dev/scrape: "true"
spec:
  selector:
    {{- include "atelier.selector" . | nindent 4 }}
  ports:
    {{- with index .spec.ports 0 }}
    - name: {{ .name }}
      port: {{ .port }}
      targetPort: {{ .name }}
    {{- end }}
---
# the addresses of all replicas, ready or not: for the health of the platform
apiVersion: v1
kind: Service
metadata:
  name: atelier-{{ .name }}-replicas
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "atelier.labels" . | nindent 4 }}
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector:
    {{- include "atelier.selector" . | nindent 4 }}
  ports:
    {{- with index .spec.ports 0 }}
    - name: {{ .name }}
      port: {{ .port }}
      targetPort: {{ .name }}
    {{- end }}
{{- range .spec.services }}
---
apiVersion: v1
kind: Service
metadata:
  name: atelier-{{ $.name }}-{{ .name }}
  namespace: {{ $.root.Release.Namespace }}
  labels:
    {{- include "atelier.labels" $ | nindent 4 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ .type }}
  {{- if ne .type "ClusterIP" }}
  externalTrafficPolicy: {{ .externalTrafficPolicy | default "Cluster" }}
  {{- end }}
  selector:
    {{- include "atelier.selector" $ | nindent 4 }}
  ports:
    {{- range .ports }}
    - name: {{ .target }}
      port: {{ .port }}
      targetPort: {{ .target }}
    {{- end }}
{{- end }}
{{- end -}}

{{- define "atelier.service.availability" }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: atelier-{{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "atelier.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "atelier.selector" . | nindent 6 }}
{{- with .spec.values.autoscaling }}
{{- if .enabled }}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: atelier-{{ $.name }}
  namespace: {{ $.root.Release.Namespace }}
  labels:
    {{- include "atelier.labels" $ | nindent 4 }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: atelier-{{ $.name }}
  minReplicas: {{ .minReplicas }}
  maxReplicas: {{ .maxReplicas }}
  metrics:
    - type: Resource
      resource:
        name: cpu
        target:
          type: Utilization
          averageUtilization: {{ .cpuPercent }}
  behavior:
    scaleDown:
      stabilizationWindowSeconds: 300
{{- end }}
{{- end }}
{{- end -}}

{{- define "atelier.service.monitor" -}}
{{- if .root.Values.metrics.serviceMonitors }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: atelier-{{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "atelier.labels" . | nindent 4 }}
    {{- with .root.Values.metrics.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  selector:
    matchLabels:
      {{- include "atelier.selector" . | nindent 6 }}
      atelier.dev/scrape: "true"
  endpoints:
    - port: {{ (index .spec.ports 0).name }}
      path: /metrics
      # a page within 30 s: docs/DRILLS.md
      interval: 5s
      scrapeTimeout: 3s
      {{- if eq .name "operator" }}
      {{- range $name, $cluster := .root.Values.clusters }}
      {{- if not ($cluster | default dict).existingSecret }}
      # the cluster that it serves, as the other services call it
      relabelings:
        - targetLabel: cluster
          replacement: {{ $name }}
      {{- end }}
      {{- end }}
      {{- end }}
{{- end }}
{{- end -}}
