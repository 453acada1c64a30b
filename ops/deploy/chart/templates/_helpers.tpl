{{- define "trawl.labels" -}}
app.kubernetes.io/name: trawl
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "trawl.commonLabels" -}}
{{ include "trawl.labels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "trawl.keys" -}}
{{ .Values.keys.existingSecret | default (printf "%s-keys" .Release.Name) }}
{{- end }}

{{- /* Of a role: (list . role values) */}}
{{- define "trawl.image" -}}
{{- $root := index . 0 }}
{{- $role := index . 1 }}
{{- $values := index . 2 }}
{{- $values.image | default (printf "%s-%s:%s" $root.Values.image.repository $role ($root.Values.image.tag | default $root.Chart.AppVersion)) }}
{{- end }}
