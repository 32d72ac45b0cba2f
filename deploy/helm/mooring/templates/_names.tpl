{{- define "mooring.fullname" -}}
{{- if contains "mooring" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-mooring" .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "mooring.labels" -}}
app.kubernetes.io/name: mooring
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "mooring.selector" -}}
app.kubernetes.io/name: mooring
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "mooring.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "mooring.scrape" -}}
{{- if .root.Values.metrics.annotate }}
prometheus.io/scrape: "true"
prometheus.io/port: {{ .port | quote }}
prometheus.io/path: /metrics
{{- end }}
{{- end -}}

{{- define "mooring.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "mooring.probes" -}}
startupProbe:
  httpGet: {path: {{ .path }}, port: metrics}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: {{ .path }}, port: metrics}
  periodSeconds: 20
  timeoutSeconds: 10
  failureThreshold: 3
readinessProbe:
  httpGet: {path: {{ .path }}, port: metrics}
  periodSeconds: 10
  timeoutSeconds: 5
{{- end -}}

{{- define "mooring.sidecarNames" -}}
{{- $chosen := .sidecars | default (list "all") -}}
{{- if has "all" $chosen -}}
provisioner attacher resizer snapshotter health-monitor
{{- else -}}
{{ join " " ($chosen | uniq) }}
{{- end -}}
{{- end -}}
