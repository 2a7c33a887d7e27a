{{- define "fermata.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "fermata.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- $name := include "fermata.name" . }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{/* Of all objects. */}}
{{- define "fermata.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: fermata
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Of one service: (list $ "proxy"). */}}
{{- define "fermata.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "fermata.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "fermata.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "fermata.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ default (include "fermata.fullname" .) .Values.serviceAccount.name }}
{{- else -}}
{{ default "default" .Values.serviceAccount.name }}
{{- end -}}
{{- end }}

{{- define "fermata.configMap" -}}
{{ default (printf "%s-config" (include "fermata.fullname" .)) .Values.existingConfigMap }}
{{- end }}

{{- define "fermata.tokenSecret" -}}
{{- if and (not .Values.auth.existingSecret) (not .Values.auth.token) -}}
{{- fail "auth.existingSecret is needed: a Secret with FERMATA_TOKEN under the key of auth.tokenKey, such as from: kubectl create secret generic fermata-token --from-literal=token=$(openssl rand -hex 32)" -}}
{{- end -}}
{{ default (printf "%s-token" (include "fermata.fullname" .)) .Values.auth.existingSecret }}
{{- end }}

{{/* All schedulers by name: the active one answers, and the others say that they stand by. */}}
{{- define "fermata.schedulerUrls" -}}
{{- $name := printf "%s-scheduler" (include "fermata.fullname" .) -}}
{{- $urls := list -}}
{{- range $index := until (int .Values.scheduler.replicas) -}}
{{- $urls = append $urls (printf "http://%s-%d.%s.%s.svc:5001" $name $index $name $.Release.Namespace) -}}
{{- end -}}
{{ join "," $urls }}
{{- end }}

{{- define "fermata.proxyUrl" -}}
http://{{ include "fermata.fullname" . }}-proxy.{{ .Release.Namespace }}.svc:{{ .Values.proxy.service.port }}
{{- end }}

{{/* Environment of all services: (list $ "proxy"). */}}
{{- define "fermata.env" -}}
{{- $root := index . 0 -}}
{{- $values := $root.Values -}}
- name: FERMATA_HOST
  value: {{ $values.bindAddress | quote }}
- name: FERMATA_LOG_LEVEL
  value: {{ $values.logLevel }}
- name: FERMATA_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ include "fermata.tokenSecret" $root }}
      key: {{ $values.auth.tokenKey }}
{{- if $values.auth.tokensFileKey }}
- name: FERMATA_TOKENS_FILE
  value: /etc/fermata-tokens/{{ $values.auth.tokensFileKey }}
{{- end }}
{{- with $values.telemetry }}
{{- if .otlpEndpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ .otlpEndpoint | quote }}
{{- if .headersSecret }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom:
    secretKeyRef:
      name: {{ .headersSecret }}
      key: {{ .headersKey }}
{{- end }}
{{- end }}
{{- end }}
{{- with $values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- with (index $values (index . 1)).extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Environment of what talks to Temporal. */}}
{{- define "fermata.temporalEnv" -}}
{{- with .Values.temporal -}}
- name: TEMPORAL_ADDRESS
  value: {{ required "temporal.address is needed: host:port of Temporal's frontend, such as temporal-frontend.temporal.svc:7233" .address | quote }}
- name: TEMPORAL_NAMESPACE
  value: {{ .namespace | quote }}
{{- if .apiKey.existingSecret }}
- name: TEMPORAL_API_KEY
  valueFrom:
    secretKeyRef:
      name: {{ .apiKey.existingSecret }}
      key: {{ .apiKey.key }}
{{- end }}
{{- if .tls.enabled }}
- name: TEMPORAL_TLS
  value: "true"
{{- if .tls.serverName }}
- name: TEMPORAL_TLS_SERVER_NAME
  value: {{ .tls.serverName | quote }}
{{- end }}
{{- if .tls.existingSecret }}
{{- if .tls.certKey }}
- name: TEMPORAL_TLS_CLIENT_CERT_PATH
  value: /etc/fermata-temporal/{{ .tls.certKey }}
- name: TEMPORAL_TLS_CLIENT_KEY_PATH
  value: /etc/fermata-temporal/{{ .tls.keyKey }}
{{- end }}
{{- if .tls.caKey }}
- name: TEMPORAL_TLS_SERVER_CA_CERT_PATH
  value: /etc/fermata-temporal/{{ .tls.caKey }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "fermata.poolKeys" -}}
{{- with .Values.poolKeysSecret }}
envFrom:
  - secretRef:
      name: {{ . }}
{{- end }}
{{- end }}

{{/* What is mounted: (list $ "config" "temporal"), each if it is there. */}}
{{- define "fermata.volumeMounts" -}}
{{- $root := index . 0 -}}
- name: tmp
  mountPath: /tmp
{{- if has "config" . }}
- name: config
  mountPath: /etc/fermata
  readOnly: true
{{- end }}
{{- if $root.Values.auth.tokensFileKey }}
- name: tokens
  mountPath: /etc/fermata-tokens
  readOnly: true
{{- end }}
{{- if and (has "temporal" .) $root.Values.temporal.tls.enabled $root.Values.temporal.tls.existingSecret }}
- name: temporal-tls
  mountPath: /etc/fermata-temporal
  readOnly: true
{{- end }}
{{- end }}

{{- define "fermata.volumes" -}}
{{- $root := index . 0 -}}
- name: tmp
  emptyDir:
    sizeLimit: 512Mi
{{- if has "config" . }}
- name: config
  configMap:
    name: {{ include "fermata.configMap" $root }}
{{- end }}
{{- if $root.Values.auth.tokensFileKey }}
- name: tokens
  secret:
    secretName: {{ include "fermata.tokenSecret" $root }}
    defaultMode: 0440
    items:
      - key: {{ $root.Values.auth.tokensFileKey }}
        path: {{ $root.Values.auth.tokensFileKey }}
{{- end }}
{{- if and (has "temporal" .) $root.Values.temporal.tls.enabled $root.Values.temporal.tls.existingSecret }}
- name: temporal-tls
  secret:
    secretName: {{ $root.Values.temporal.tls.existingSecret }}
    defaultMode: 0440
{{- end }}
{{- end }}

{{/* Of every pod: (list $ "proxy"). */}}
{{- define "fermata.pod" -}}
{{- $root := index . 0 -}}
{{- $values := $root.Values -}}
serviceAccountName: {{ include "fermata.serviceAccount" $root }}
# Without this a Service called fermata-proxy would put FERMATA_PROXY_PORT=tcp://... into the environment.
enableServiceLinks: false
securityContext:
  {{- toYaml $values.podSecurityContext | nindent 2 }}
{{- with $values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
affinity:
  {{- if $values.affinity }}
  {{- toYaml $values.affinity | nindent 2 }}
  {{- else }}
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "fermata.selector" . | nindent 14 }}
  {{- end }}
topologySpreadConstraints:
  {{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: {{ $values.spread }}
    labelSelector:
      matchLabels:
        {{- include "fermata.selector" $ | nindent 8 }}
  {{- end }}
{{- end }}

{{/* Labels and annotations of a pod: (list $ "proxy" "proxy"): the component and the name of its values. */}}
{{- define "fermata.podMetadata" -}}
{{- $root := index . 0 -}}
labels:
  {{- include "fermata.labels" $root | nindent 2 }}
  {{- include "fermata.selector" . | nindent 2 }}
{{- with (index $root.Values (index . 2)).podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The parts of a container that are the same in all. */}}
{{- define "fermata.container" -}}
image: {{ include "fermata.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
{{- end }}

{{/* Probes at the port `http`: (dict "ready" "/readyz"). */}}
{{- define "fermata.probes" -}}
startupProbe:
  httpGet: { path: /healthz, port: http }
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /healthz, port: http }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: {{ .ready }}, port: http }
  periodSeconds: 2
  timeoutSeconds: 3
  failureThreshold: 2
{{- end }}
