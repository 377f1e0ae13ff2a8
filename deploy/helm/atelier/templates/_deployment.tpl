{{/* The Deployment of a service, and the Job that migrates its schema before. */}}
{{- define "atelier.service.deployment" -}}
{{- $values := .spec.values }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: atelier-{{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "atelier.labels" . | nindent 4 }}
spec:
  {{- if not (dig "autoscaling" "enabled" false $values) }}
  replicas: {{ $values.replicas }}
  {{- else }}
  {{- /* those that the autoscaler has chosen: without the field, a Deployment that had it goes back to one */}}
  {{- with lookup "apps/v1" "Deployment" .root.Release.Namespace (printf "atelier-%s" .name) }}
  replicas: {{ .spec.replicas }}
  {{- end }}
  {{- end }}
  strategy:
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  selector:
    matchLabels:
      {{- include "atelier.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "atelier.selector" . | nindent 8 }}
        app.kubernetes.io/part-of: atelier
      annotations:
        # a changed configuration replaces the pods
        atelier.dev/config: {{ .spec.toml | sha256sum }}
        {{- with $values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: atelier-{{ .name }}
      automountServiceAccountToken: {{ .spec.inCluster }}
      # variables of Services would be taken for configuration: ATELIER_GPU_PORT
      enableServiceLinks: false
      securityContext:
        {{- include "atelier.pod.security" . | nindent 8 }}
      # serving on by itself or in preStop, then 20 s for requests and 20 s for tasks
      terminationGracePeriodSeconds: {{ add 45 (.spec.drain | default 5) }}
      {{- with .root.Values.image.pullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with $values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
        - maxSkew: 1
          topologyKey: {{ . }}
          whenUnsatisfiable: ScheduleAnyway
          matchLabelKeys: [pod-template-hash]
          labelSelector:
            matchLabels:
              {{- include "atelier.selector" $ | nindent 14 }}
        {{- end }}
      containers:
        - name: {{ .name }}
          {{- include "atelier.program" (dict "root" .root "spec" .spec "command" "serve") | nindent 10 }}
          env:
            {{- if eq .name "operator" }}
            # the name of the replica in the election
            - name: ATELIER_IDENTITY
              valueFrom:
                fieldRef:
                  fieldPath: metadata.name
            {{- end }}
            {{- include "atelier.variables" (dict "root" .root "spec" .spec "roles" (list "app" "worker")) | nindent 12 }}
          ports:
            {{- range .spec.ports }}
            - name: {{ .name }}
              containerPort: {{ .port }}
            {{- end }}
          {{- $health := (index .spec.ports 0).name }}
          startupProbe:
            httpGet:
              path: /healthz
              port: {{ $health }}
            periodSeconds: 2
            failureThreshold: 60
          livenessProbe:
            httpGet:
              path: /healthz
              port: {{ $health }}
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet:
              path: /readyz
              port: {{ $health }}
            periodSeconds: 3
            timeoutSeconds: 3
            failureThreshold: 2
          {{- if not .spec.drain }}
          lifecycle:
            preStop:
              # others stop sending to it meanwhile
              sleep:
                seconds: 5
          {{- end }}
          resources:
            {{- toYaml $values.resources | nindent 12 }}
          volumeMounts:
            {{- include "atelier.mounts" . | nindent 12 }}
      volumes:
        {{- include "atelier.volumes" (dict "root" .root "spec" .spec "configMap" (printf "atelier-%s" .name)) | nindent 8 }}
{{- end -}}

{{- define "atelier.hook" -}}
helm.sh/hook: pre-install,pre-upgrade
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}

{{/* Migrations run beside the older replicas, which work on the newer schema. */}}
{{- define "atelier.service.migration" }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: atelier-{{ .name }}-migrate
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "atelier.labels" (dict "root" .root "name" (printf "%s-migrate" .name)) | nindent 4 }}
  annotations:
    {{- include "atelier.hook" "-20" | nindent 4 }}
data:
  config.toml: |
    {{- .spec.toml | nindent 4 }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: atelier-{{ .name }}-migrate
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "atelier.labels" (dict "root" .root "name" (printf "%s-migrate" .name)) | nindent 4 }}
  annotations:
    {{- include "atelier.hook" "-5" | nindent 4 }}
spec:
  backoffLimit: 3
  activeDeadlineSeconds: 1800
  template:
    metadata:
      labels:
        {{- include "atelier.labels" (dict "root" .root "name" (printf "%s-migrate" .name)) | nindent 8 }}
    spec:
      restartPolicy: Never
      automountServiceAccountToken: false
      enableServiceLinks: false
      securityContext:
        {{- include "atelier.pod.security" . | nindent 8 }}
      {{- with .root.Values.image.pullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: migrate
          {{- include "atelier.program" (dict "root" .root "spec" .spec "command" "migrate") | nindent 10 }}
          env:
            {{- include "atelier.variables" (dict "root" .root "spec" .spec "roles" (list "app" "worker" "owner")) | nindent 12 }}
          resources:
            requests: {cpu: 50m, memory: 64Mi}
            limits: {memory: 256Mi}
          volumeMounts:
            {{- include "atelier.mounts" . | nindent 12 }}
      volumes:
        {{- include "atelier.volumes" (dict "root" .root "spec" .spec "configMap" (printf "atelier-%s-migrate" .name)) | nindent 8 }}
{{- end -}}
