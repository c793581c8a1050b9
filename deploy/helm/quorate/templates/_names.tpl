{{- define "quorate.labels" -}}
app.kubernetes.io/name: quorate
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "quorate.service" -}}
{{ .Release.Name }}-nodes.{{ .Release.Namespace }}.svc
{{- end }}
