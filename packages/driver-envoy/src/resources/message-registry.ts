import { createRegistry, type Registry } from '@bufbuild/protobuf'
import { file_google_protobuf_wrappers } from '@bufbuild/protobuf/wkt'
import { file_envoy_config_cluster_v3_cluster } from '@osm-ts/envoy-api/envoy/config/cluster/v3/cluster_pb.js'
import { file_envoy_config_core_v3_extension } from '@osm-ts/envoy-api/envoy/config/core/v3/extension_pb.js'
import { file_envoy_config_endpoint_v3_endpoint } from '@osm-ts/envoy-api/envoy/config/endpoint/v3/endpoint_pb.js'
import { file_envoy_config_listener_v3_listener } from '@osm-ts/envoy-api/envoy/config/listener/v3/listener_pb.js'
import { file_envoy_config_route_v3_route_components } from '@osm-ts/envoy-api/envoy/config/route/v3/route_components_pb.js'
import { file_envoy_config_route_v3_route } from '@osm-ts/envoy-api/envoy/config/route/v3/route_pb.js'
import { file_envoy_config_trace_v3_opentelemetry } from '@osm-ts/envoy-api/envoy/config/trace/v3/opentelemetry_pb.js'
import { file_envoy_extensions_tracers_opentelemetry_samplers_v3_parent_based_sampler } from '@osm-ts/envoy-api/envoy/extensions/tracers/opentelemetry/samplers/v3/parent_based_sampler_pb.js'
import { file_envoy_extensions_tracers_opentelemetry_samplers_v3_trace_id_ratio_based_sampler } from '@osm-ts/envoy-api/envoy/extensions/tracers/opentelemetry/samplers/v3/trace_id_ratio_based_sampler_pb.js'
import { file_envoy_config_trace_v3_zipkin } from '@osm-ts/envoy-api/envoy/config/trace/v3/zipkin_pb.js'
import { file_envoy_extensions_access_loggers_open_telemetry_v3_logs_service } from '@osm-ts/envoy-api/envoy/extensions/access_loggers/open_telemetry/v3/logs_service_pb.js'
import { file_envoy_extensions_access_loggers_stats_v3_stats } from '@osm-ts/envoy-api/envoy/extensions/access_loggers/stats/v3/stats_pb.js'
import { file_envoy_extensions_access_loggers_stream_v3_stream } from '@osm-ts/envoy-api/envoy/extensions/access_loggers/stream/v3/stream_pb.js'
import { file_envoy_extensions_clusters_dynamic_forward_proxy_v3_cluster } from '@osm-ts/envoy-api/envoy/extensions/clusters/dynamic_forward_proxy/v3/cluster_pb.js'
import { file_envoy_extensions_filters_http_custom_response_v3_custom_response } from '@osm-ts/envoy-api/envoy/extensions/filters/http/custom_response/v3/custom_response_pb.js'
import { file_envoy_extensions_filters_http_dynamic_forward_proxy_v3_dynamic_forward_proxy } from '@osm-ts/envoy-api/envoy/extensions/filters/http/dynamic_forward_proxy/v3/dynamic_forward_proxy_pb.js'
import { file_envoy_extensions_filters_http_ext_authz_v3_ext_authz } from '@osm-ts/envoy-api/envoy/extensions/filters/http/ext_authz/v3/ext_authz_pb.js'
import { file_envoy_extensions_filters_http_header_mutation_v3_header_mutation } from '@osm-ts/envoy-api/envoy/extensions/filters/http/header_mutation/v3/header_mutation_pb.js'
import { file_envoy_extensions_filters_http_header_to_metadata_v3_header_to_metadata } from '@osm-ts/envoy-api/envoy/extensions/filters/http/header_to_metadata/v3/header_to_metadata_pb.js'
import { file_envoy_extensions_filters_http_lua_v3_lua } from '@osm-ts/envoy-api/envoy/extensions/filters/http/lua/v3/lua_pb.js'
import { file_envoy_extensions_filters_http_ratelimit_v3_rate_limit } from '@osm-ts/envoy-api/envoy/extensions/filters/http/ratelimit/v3/rate_limit_pb.js'
import { file_envoy_extensions_filters_network_ratelimit_v3_rate_limit } from '@osm-ts/envoy-api/envoy/extensions/filters/network/ratelimit/v3/rate_limit_pb.js'
import { file_envoy_extensions_filters_http_health_check_v3_health_check } from '@osm-ts/envoy-api/envoy/extensions/filters/http/health_check/v3/health_check_pb.js'
import { file_envoy_extensions_filters_http_local_ratelimit_v3_local_rate_limit } from '@osm-ts/envoy-api/envoy/extensions/filters/http/local_ratelimit/v3/local_rate_limit_pb.js'
import { file_envoy_extensions_filters_http_rbac_v3_rbac } from '@osm-ts/envoy-api/envoy/extensions/filters/http/rbac/v3/rbac_pb.js'
import { file_envoy_extensions_filters_http_router_v3_router } from '@osm-ts/envoy-api/envoy/extensions/filters/http/router/v3/router_pb.js'
import { file_envoy_extensions_filters_listener_http_inspector_v3_http_inspector } from '@osm-ts/envoy-api/envoy/extensions/filters/listener/http_inspector/v3/http_inspector_pb.js'
import { file_envoy_extensions_filters_listener_original_dst_v3_original_dst } from '@osm-ts/envoy-api/envoy/extensions/filters/listener/original_dst/v3/original_dst_pb.js'
import { file_envoy_extensions_filters_listener_tls_inspector_v3_tls_inspector } from '@osm-ts/envoy-api/envoy/extensions/filters/listener/tls_inspector/v3/tls_inspector_pb.js'
import { file_envoy_extensions_filters_network_http_connection_manager_v3_http_connection_manager } from '@osm-ts/envoy-api/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import { file_envoy_extensions_filters_network_local_ratelimit_v3_local_rate_limit } from '@osm-ts/envoy-api/envoy/extensions/filters/network/local_ratelimit/v3/local_rate_limit_pb.js'
import { file_envoy_extensions_filters_network_rbac_v3_rbac } from '@osm-ts/envoy-api/envoy/extensions/filters/network/rbac/v3/rbac_pb.js'
import { file_envoy_extensions_filters_network_sni_dynamic_forward_proxy_v3_sni_dynamic_forward_proxy } from '@osm-ts/envoy-api/envoy/extensions/filters/network/sni_dynamic_forward_proxy/v3/sni_dynamic_forward_proxy_pb.js'
import { file_envoy_extensions_filters_network_tcp_proxy_v3_tcp_proxy } from '@osm-ts/envoy-api/envoy/extensions/filters/network/tcp_proxy/v3/tcp_proxy_pb.js'
import { file_envoy_extensions_http_custom_response_local_response_policy_v3_local_response_policy } from '@osm-ts/envoy-api/envoy/extensions/http/custom_response/local_response_policy/v3/local_response_policy_pb.js'
import { file_envoy_extensions_http_early_header_mutation_header_mutation_v3_header_mutation } from '@osm-ts/envoy-api/envoy/extensions/http/early_header_mutation/header_mutation/v3/header_mutation_pb.js'
import { file_envoy_extensions_matching_common_inputs_network_v3_network_inputs } from '@osm-ts/envoy-api/envoy/extensions/matching/common_inputs/network/v3/network_inputs_pb.js'
import { file_envoy_extensions_network_dns_resolver_getaddrinfo_v3_getaddrinfo_dns_resolver } from '@osm-ts/envoy-api/envoy/extensions/network/dns_resolver/getaddrinfo/v3/getaddrinfo_dns_resolver_pb.js'
import { file_envoy_extensions_filters_http_set_filter_state_v3_set_filter_state } from '@osm-ts/envoy-api/envoy/extensions/filters/http/set_filter_state/v3/set_filter_state_pb.js'
import { file_envoy_extensions_filters_network_set_filter_state_v3_set_filter_state } from '@osm-ts/envoy-api/envoy/extensions/filters/network/set_filter_state/v3/set_filter_state_pb.js'
import { file_envoy_extensions_transport_sockets_internal_upstream_v3_internal_upstream } from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/internal_upstream/v3/internal_upstream_pb.js'
import { file_envoy_extensions_transport_sockets_raw_buffer_v3_raw_buffer } from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/raw_buffer/v3/raw_buffer_pb.js'
import { file_envoy_extensions_transport_sockets_tls_v3_secret } from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/tls/v3/secret_pb.js'
import { file_envoy_extensions_transport_sockets_tls_v3_tls } from '@osm-ts/envoy-api/envoy/extensions/transport_sockets/tls/v3/tls_pb.js'
import { file_envoy_extensions_upstreams_http_tcp_v3_tcp_connection_pool } from '@osm-ts/envoy-api/envoy/extensions/upstreams/http/tcp/v3/tcp_connection_pool_pb.js'
import { file_envoy_extensions_upstreams_http_v3_http_protocol_options } from '@osm-ts/envoy-api/envoy/extensions/upstreams/http/v3/http_protocol_options_pb.js'
import { file_envoy_type_matcher_v3_status_code_input } from '@osm-ts/envoy-api/envoy/type/matcher/v3/status_code_input_pb.js'
import { file_xds_type_matcher_v3_ip } from '@osm-ts/envoy-api/xds/type/matcher/v3/ip_pb.js'

/** Types of everything that this driver makes, down to what is wrapped in `google.protobuf.Any`: for printing it as JSON. */
export function messageRegistry(): Registry {
  return createRegistry(
    file_envoy_config_cluster_v3_cluster,
    file_envoy_config_core_v3_extension,
    file_envoy_config_endpoint_v3_endpoint,
    file_envoy_config_listener_v3_listener,
    file_envoy_config_route_v3_route,
    file_envoy_config_route_v3_route_components,
    file_envoy_config_trace_v3_opentelemetry,
    file_envoy_extensions_tracers_opentelemetry_samplers_v3_parent_based_sampler,
    file_envoy_extensions_tracers_opentelemetry_samplers_v3_trace_id_ratio_based_sampler,
    file_envoy_config_trace_v3_zipkin,
    file_envoy_extensions_access_loggers_open_telemetry_v3_logs_service,
    file_envoy_extensions_access_loggers_stats_v3_stats,
    file_envoy_extensions_access_loggers_stream_v3_stream,
    file_envoy_extensions_filters_http_header_mutation_v3_header_mutation,
    file_envoy_extensions_filters_http_header_to_metadata_v3_header_to_metadata,
    file_envoy_extensions_filters_http_lua_v3_lua,
    file_envoy_extensions_filters_http_ratelimit_v3_rate_limit,
    file_envoy_extensions_filters_network_ratelimit_v3_rate_limit,
    file_envoy_extensions_clusters_dynamic_forward_proxy_v3_cluster,
    file_envoy_extensions_filters_http_custom_response_v3_custom_response,
    file_envoy_extensions_filters_http_dynamic_forward_proxy_v3_dynamic_forward_proxy,
    file_envoy_extensions_filters_http_ext_authz_v3_ext_authz,
    file_envoy_extensions_filters_http_health_check_v3_health_check,
    file_envoy_extensions_filters_http_local_ratelimit_v3_local_rate_limit,
    file_envoy_extensions_filters_http_rbac_v3_rbac,
    file_envoy_extensions_filters_http_router_v3_router,
    file_envoy_extensions_filters_listener_http_inspector_v3_http_inspector,
    file_envoy_extensions_filters_listener_original_dst_v3_original_dst,
    file_envoy_extensions_filters_listener_tls_inspector_v3_tls_inspector,
    file_envoy_extensions_filters_network_http_connection_manager_v3_http_connection_manager,
    file_envoy_extensions_filters_network_local_ratelimit_v3_local_rate_limit,
    file_envoy_extensions_filters_network_rbac_v3_rbac,
    file_envoy_extensions_filters_network_sni_dynamic_forward_proxy_v3_sni_dynamic_forward_proxy,
    file_envoy_extensions_filters_network_tcp_proxy_v3_tcp_proxy,
    file_envoy_extensions_http_custom_response_local_response_policy_v3_local_response_policy,
    file_envoy_extensions_http_early_header_mutation_header_mutation_v3_header_mutation,
    file_envoy_extensions_matching_common_inputs_network_v3_network_inputs,
    file_envoy_extensions_network_dns_resolver_getaddrinfo_v3_getaddrinfo_dns_resolver,
    file_envoy_extensions_filters_http_set_filter_state_v3_set_filter_state,
    file_envoy_extensions_filters_network_set_filter_state_v3_set_filter_state,
    file_envoy_extensions_transport_sockets_internal_upstream_v3_internal_upstream,
    file_envoy_extensions_transport_sockets_raw_buffer_v3_raw_buffer,
    file_envoy_extensions_transport_sockets_tls_v3_secret,
    file_envoy_extensions_transport_sockets_tls_v3_tls,
    file_envoy_extensions_upstreams_http_tcp_v3_tcp_connection_pool,
    file_envoy_extensions_upstreams_http_v3_http_protocol_options,
    file_envoy_type_matcher_v3_status_code_input,
    file_google_protobuf_wrappers,
    file_xds_type_matcher_v3_ip,
  )
}
