#!/bin/sh
# configure.sh FOLDER [DATA…]: writes the configuration of every container of docker-compose.yml into a folder, and gives the
# data folders to the user of the containers. Secrets are random, made once, and kept
# there: nothing in the repository is secret. Needs a POSIX shell, od and base64.
# Variables: COMPOSE_PROFILES, whose `ceph` selects the object store; GATEWAY_PORT, the port of the gateway for users.
set -eu
umask 077
out=$1
shift
mkdir -p "$out"

case ",${COMPOSE_PROFILES:-}," in
  *,ceph,*) store=ceph store_port=8088 ;;
  *) store=objects store_port=8087 ;;
esac
# Buckets are in one store only: another one would not have them.
if [ -e "$out/object-store" ] && [ "$(cat "$out/object-store")" != $store ]; then
  echo "the object store was chosen at the first start: $(cat "$out/object-store"), not $store" >&2
  echo "set COMPOSE_PROFILES as it was then, or delete everything: docker compose down --volumes" >&2
  exit 1
fi
printf '%s' $store >"$out/object-store"

# A word of letters and digits that begins with a letter: no configuration takes it for a number.
word() { printf 's%s' "$(head -c "$1" /dev/urandom | od -An -v -tx1 | tr -d ' \n')"; }
key() { head -c 32 /dev/urandom | base64 | tr -d '\n'; }

# made from platform.toml by `cargo xtask platform`: services
services="identity stock gpu storage jobs"
routed="identity stock gpu storage jobs"
calling="gateway identity stock gpu storage jobs"
encrypting="identity gpu jobs"
with_cache="stock gpu jobs"
with_clusters="stock gpu storage"
callers_of_identity="gateway stock gpu storage jobs"
called_by_identity="gpu storage jobs"
endpoints_of_identity=""
callers_of_stock="gpu jobs"
called_by_stock="identity"
endpoints_of_stock=""
callers_of_gpu="gateway identity storage jobs"
called_by_gpu="identity stock storage"
endpoints_of_gpu="identity stock storage"
callers_of_storage="identity gpu jobs"
called_by_storage="identity gpu"
endpoints_of_storage="gpu"
callers_of_jobs="identity"
called_by_jobs="identity stock gpu storage"
endpoints_of_jobs="storage"
# end of services

# Whether a word is in a list.
has() { case " $2 " in *" $1 "*) ;; *) return 1 ;; esac; }
# The value of a variable.
value() { eval "printf '%s' \"\${$1:-}\""; }

secrets=$out/secrets
touch "$secrets"
# Keeps the value of a secret, or makes it with the given command.
secret() {
  wanted=$1
  shift
  grep -q "^$wanted=" "$secrets" || printf '%s=%s\n' "$wanted" "$("$@")" >>"$secrets"
}
for name in $services; do
  for role in owner app worker; do secret "${name}_${role}_password" word 20; done
done
for name in $calling operator cluster; do secret "${name}_token" word 20; done
for name in $encrypting; do secret "${name}_key" key; done
secret postgres_password word 20
secret valkey_password word 20
secret cache_key key
secret rabbitmq_password word 20
secret grafana_password word 8
secret administrator_password word 8
secret designer_password word 8
secret object_store_access_key word 10
secret object_store_secret_key word 20
secret cookie_key key
# shellcheck disable=SC1090
. "$secrets"

gateway_port=${GATEWAY_PORT:-8080}
public_url=http://localhost:$gateway_port

# What replicas of a service share and may forget. Each service derives a key of its own.
cache() {
  cat <<END
[cache]
url = "redis://:$valkey_password@valkey:6379"
key = "$cache_key"

END
}

# The schema of a service.
database() {
  cat <<END
[database]
url = "postgres://postgres:5432/atelier?sslmode=disable"
owner_password = "$(value "$1_owner_password")"
app_password = "$(value "$1_app_password")"
worker_password = "$(value "$1_worker_password")"

END
}

# Whose access tokens are accepted, and where a service reads their revocations.
auth() {
  cat <<END
[auth]
issuer = "$public_url"
jwks_url = "http://identity:8080/.well-known/jwks.json"

[auth.revocations]
url = "http://identity:8080"
token = "$(value "$1_token")"

END
}

# Traces and logs. Without the profile `observe` no collector answers, and what is exported is dropped.
telemetry() {
  cat <<END
[telemetry]
endpoint = "http://otel:4317"
sample_ratio = 1.0

END
}

{
  cat <<END
url = "postgres://postgres:5432/atelier?sslmode=disable"
user = "postgres"
password = "$postgres_password"

[passwords]
END
  for name in $services; do
    printf '%s = { owner = "%s", app = "%s", worker = "%s" }\n' "$name" "$(value "${name}_owner_password")" \
      "$(value "${name}_app_password")" "$(value "${name}_worker_password")"
  done
} >"$out/provision.toml"

# What only one service has in its configuration.
own_identity() {
  cat <<END
public_url = "$public_url"

[passkeys]
rp_id = "localhost"

[bootstrap_admin]
email = "admin@atelier.example"
password = "$administrator_password"

[participants]
$(for name in $called_by_identity; do echo "$name = { url = \"http://$name:8080\", token = \"$identity_token\" }"; done)

[auth]
issuer = "$public_url"

END
}

own_storage() {
  cat <<END

[object_store]
endpoint = "http://$store:$store_port"
public_endpoint = "http://localhost:$store_port"
access_key = "$object_store_access_key"
secret_key = "$object_store_secret_key"
allowed_origins = ["$public_url"]

END
}

own_gpu() {
  cat <<END

[apps]
scheme = "http"
domain = "localhost"
port = $gateway_port

[ssh]
listen = "0.0.0.0:8093"
host = "localhost"

[ssh.identity]
url = "http://identity:8080"
token = "$gpu_token"

[log_archive]
endpoint = "http://$store:$store_port"
bucket = "atelier-logs"
access_key = "$object_store_access_key"
secret_key = "$object_store_secret_key"

END
}

own_jobs() {
  cat <<END
worker_listen = "0.0.0.0:8097"

[fleet]
jobs_url = "http://jobs:8097"

[fleet.gpu]
url = "http://gpu:8080"
token = "$jobs_token"

[stock]
url = "http://stock:8080"
token = "$jobs_token"

[mq]
url = "amqp://atelier:$rabbitmq_password@rabbitmq:5672/%2f"
auth_listen = "0.0.0.0:8098"
public_url = "amqp://localhost:5672/%2f"
management_url = "http://atelier:$rabbitmq_password@rabbitmq:15672"

END
}

for name in $services; do
  {
    printf 'listen = "0.0.0.0:8080"\n'
    if command -v "own_$name" >/dev/null; then "own_$name"; fi
    for called in $(value "endpoints_of_$name"); do
      printf '[%s]\nurl = "http://%s:8080"\ntoken = "%s"\n\n' "$called" "$called" "$(value "${name}_token")"
    done
    if has "$name" "$encrypting"; then
      printf '[[encryption_keys]]\nid = "1"\nkey = "%s"\n\n' "$(value "${name}_key")"
    fi
    if has "$name" "$with_clusters"; then printf '[clusters.dev-1]\nkubeconfig = "/config/kubeconfig"\n\n'; fi
    printf '[callers]\n'
    for caller in $(value "callers_of_$name"); do printf '%s = "%s"\n' "$caller" "$(value "${caller}_token")"; done
    if [ "$name" != identity ]; then auth "$name"; fi
    if has "$name" "$with_cache"; then cache; fi
    telemetry
    database "$name"
  } >"$out/$name.toml"
done

{
  cat <<END
listen = "0.0.0.0:8080"
kubeconfig = "/config/kubeconfig"
# a fixed identity takes its own lease again after a crash
identity = "operator-1"

[callers]
scripts = "$operator_token"

[settings.tenant_code]
# one person uses this installation
accept_default_runtime = true

END
  telemetry
} >"$out/operator.toml"

# The gateway and the cluster share a network, in which pods have addresses of the loopback interface.
{
  cat <<END
listen = "0.0.0.0:8080"
metrics_listen = "0.0.0.0:9090"
public_url = "$public_url"
gpu_token = "$gateway_token"
drain_seconds = 1

[[cookie_keys]]
id = "1"
key = "$cookie_key"

[console]
directory = "/console"
content_origins = ["http://localhost:$store_port"]

[limits.shared]
url = "redis://:$valkey_password@valkey:6379"

[services]
$(for name in $routed; do echo "$name = \"http://$name:8080\""; done)

[modules]
operator-dev-1 = ["http://operator:8080"]

END
  telemetry
  cache
  auth gateway
} >"$out/gateway.toml"

cat >"$out/cluster.toml" <<END
listen = "0.0.0.0:8086"
data_dir = "/data"

[[tokens]]
token = "$cluster_token"
user = "atelier"
groups = ["system:masters"]

[[nodes]]
name = "node-1"
cpu = "128"
memory = "512Gi"
ephemeral_storage = "4Ti"
pods = 500
extended = { "nvidia.com/gpu" = 32 }
labels = { "atelier.dev/datacenter" = "dev-1" }

# the operator's placeholders
[[images]]
pattern = "registry.k8s.io/pause:*"

[[images]]
pattern = "atelier/webui:*"
entrypoint = ["/bin/atelier-webui", "--lora-dir", "storage/models/Lora"]

# downloads files onto volumes
[[images]]
pattern = "atelier/fetch:*"
entrypoint = ["/bin/atelier-fetch"]
END

cat >"$out/kubeconfig" <<END
apiVersion: v1
kind: Config
current-context: dev-1
clusters:
  - name: dev-1
    cluster: {server: "http://cluster:8086"}
users:
  - name: atelier
    user: {token: "$cluster_token"}
contexts:
  - name: dev-1
    context: {cluster: dev-1, user: atelier}
END

cat >"$out/objects.toml" <<END
listen = "0.0.0.0:8087"
data_dir = "/data"
admin_access_key = "$object_store_access_key"
admin_secret_key = "$object_store_secret_key"
region = "default"
END

printf 'access_key=%s\nsecret_key=%s\n' "$object_store_access_key" "$object_store_secret_key" >"$out/ceph-keys"

cat >"$out/demo.json" <<END
{
  "gateway": "$public_url",
  "administrator": {"email": "admin@atelier.example", "password": "$administrator_password"},
  "designer": {"email": "designer@atelier.example", "password": "$designer_password"}
}
END

cat >"$out/rabbitmq.conf" <<END
default_user = atelier
default_pass = $rabbitmq_password
default_vhost = /
max_message_size = 1048576
channel_max = 64
management_agent.disable_metrics_collector = true
auth_backends.1 = internal
auth_backends.2 = http
auth_http.http_method = post
auth_http.user_path = http://jobs:8098/mq/v1/user
auth_http.vhost_path = http://jobs:8098/mq/v1/vhost
auth_http.resource_path = http://jobs:8098/mq/v1/resource
auth_http.topic_path = http://jobs:8098/mq/v1/topic
END
printf '[rabbitmq_auth_backend_http, rabbitmq_management].\n' >"$out/rabbitmq-plugins"

printf '%s' "$postgres_password" >"$out/postgres-password"
printf '%s' "$grafana_password" >"$out/grafana-password"
printf 'requirepass %s\nsave ""\nappendonly no\nmaxmemory 64mb\nmaxmemory-policy allkeys-lru\n' "$valkey_password" >"$out/valkey.conf"

# Each container's user; 472 is Grafana's, 999 Valkey's, Postgres' and RabbitMQ's.
if [ "$(id -u)" = 0 ]; then
  chmod 711 "$out"
  chown 65532:65532 "$out"/*.toml "$out/kubeconfig" "$out/ceph-keys" "$out/object-store"
  chown 472 "$out/grafana-password"
  chown 999 "$out/valkey.conf" "$out/postgres-password" "$out/rabbitmq.conf" "$out/rabbitmq-plugins"
  for data in "$@"; do chown 65532:65532 "$data"; done
fi
