#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/clock.h"
#include "transports/ucx/settings.h"
#include "transports/ucx/ucx.h"

/* Creation and destruction of the transport, progress and sleep. */

/* In the order of ctn_put_mode_t. */
static const char *const put_modes[] = {"auto", "am", "rma", NULL};
_Static_assert(CTN_PUT_RMA == 2, "put_modes follows ctn_put_mode_t");

static const ctn_setting_type_t put_type = {.kind = CTN_SETTING_WORD,
                                            .words = put_modes};

static const ctn_setting_t ucx_settings[] = {
    {"UCX_PUT", "auto",
     "How data and their flag are sent between nodes. am: one active message;\n"
     "rma: put, fence, put. auto: rma if the network has RDMA.",
     offsetof(ctn_ucx_config_t, put), &put_type},
};

const ctn_setting_table_t ctn_ucx_settings =
    CTN_SETTING_TABLE(ucx_settings, ctn_ucx_config_t);

/** The longest sleep that relies on the event descriptor alone. */
#define LONGEST_SLEEP_NS UINT64_C(1000000000)

void ctn_ucx_fail(ctn_ucx_t *transport, catena_status_t status)
{
    if (transport->status == CATENA_OK)
        transport->status = status;
}

void ctn_ucx_fail_unless_died(ctn_ucx_t *transport, catena_status_t status)
{
    if (transport->died == NULL || status != CATENA_ERR_PEER)
        ctn_ucx_fail(transport, status);
}

catena_status_t ctn_ucx_status(ucs_status_t status)
{
    switch (status) {
    case UCS_OK:
    case UCS_INPROGRESS:
        return CATENA_OK;
    case UCS_ERR_NO_MEMORY:
        return CATENA_ERR_NO_MEMORY;
    case UCS_ERR_CANCELED:
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_ENDPOINT_TIMEOUT:
    case UCS_ERR_NOT_CONNECTED:
    case UCS_ERR_REJECTED:
    case UCS_ERR_TIMED_OUT:
    case UCS_ERR_UNREACHABLE:
        return CATENA_ERR_PEER;
    default:
        return CATENA_ERR_TRANSPORT;
    }
}

/** Space for what UCX adds to a header: 24 bytes in 1.13 to 1.20. */
#define UCX_HEADER_BYTES 64u

/** Whether UCX_TLS lets UCX use tcp. */
static bool tcp_allowed(void)
{
    const char *tls = secure_getenv("UCX_TLS");
    if (tls == NULL || strcmp(tls, "all") == 0)
        return true;
    return (tls[0] == '^') == (strstr(tls, "tcp") == NULL);
}

/** Read UCX's settings, and change those for which catena needs other values;
 * the user's environment has precedence, unless a setting is pinned. */
static catena_status_t read_config(const ctn_transport_params_t *transport,
                                   ucp_config_t **config)
{
    const ctn_log_t *log = transport->log;
    static const struct {
        const char *variable, *key, *value;
        bool tcp;           /* set only if tcp is allowed, else UCX warns */
        bool pinned;        /* set even if the environment says otherwise */
        const char *unless; /* the environment has this one, or NULL */
    } settings[] = {
        /* One lane carries all active messages of an endpoint, in order. With
         * more lanes a message of several fragments completes when fragments on
         * other lanes arrive, and later messages may overtake it. The second
         * name is the older one. */
        {"UCX_MAX_EAGER_RAILS", "MAX_EAGER_RAILS", "1", false, true, NULL},
        {"UCX_MAX_EAGER_LANES", "MAX_EAGER_LANES", "1", false, true, NULL},
        /* On the node catena has its own memory. UCX's shared memory cannot
         * detect a dead peer, and its files stay in /dev/shm when a rank is
         * killed while it starts. */
        {"UCX_TLS", "TLS", "^sm", false, false, NULL},
        /* tcp receives 64 KiB of data and their headers by one call instead of
         * two. 64 KiB to each of 12 peers, 16 processes on 2 cores: 1.6 ms
         * instead of 1.9. */
        {"UCX_TCP_RX_SEG_SIZE", "RX_SEG_SIZE", "128k", true, false, NULL},
        /* tcp sends a message of up to this size directly from the memory of
         * the caller, and copies what the socket does not take. A larger one is
         * sent without copies, and if the connection breaks before the socket
         * has taken all of it, UCX (1.13 to 1.22) completes it twice and ends
         * the process: "uct_iface.h: Assertion `comp->count > 0' failed"
         * (uct_tcp_ep_sendv of tcp_ep.c). It may not be larger than
         * RX_SEG_SIZE. */
        {"UCX_TCP_TX_SEG_SIZE", "TX_SEG_SIZE", "128k", true, false,
         "UCX_TCP_RX_SEG_SIZE"},
        /* A message that UCX sends without copies takes a buffer from a pool
         * for its headers. UCX makes the pool when a process sends the first
         * such message, and touches all of its 128 buffers of 8 KiB: 130 page
         * faults, and 370 us for that message. Buffers of 128 bytes, which
         * suffice for the headers: 7 faults, 70 us. */
        {"UCX_SEG_SIZE", "SEG_SIZE", "128", false, false, NULL},
        /* UCX's default, except that this pool does not ask for huge pages:
         * checking for them alone took 30 us. */
        {"UCX_ALLOC_PRIO", "ALLOC_PRIO", "md:sysv,md:posix,md:*,mmap,heap",
         false, false, NULL},
        /* UCX would warn of variables that only other versions have. */
        {"UCX_WARN_UNUSED_ENV_VARS", "WARN_UNUSED_ENV_VARS", "n", false, false,
         NULL},
    };
    _Static_assert(sizeof(ctn_ucx_header_t) + UCX_HEADER_BYTES <= 128,
                   "headers fit into SEG_SIZE");
    ucs_status_t status = ucp_config_read(NULL, NULL, config);
    if (status != UCS_OK) {
        ctn_error(
            log, "UCX cannot read its UCX_ settings: %s; correct or unset them",
            ucs_status_string(status));
        return ctn_ucx_status(status);
    }
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        const char *asked_for = secure_getenv(settings[i].variable);
        if ((asked_for != NULL && !settings[i].pinned) ||
            (settings[i].tcp && !tcp_allowed()) ||
            (settings[i].unless != NULL &&
             secure_getenv(settings[i].unless) != NULL))
            continue;
        if (asked_for != NULL && strcmp(asked_for, settings[i].value) != 0)
            ctn_warn(log,
                     "%s is %s; catena needs messages in order and uses "
                     "%s",
                     settings[i].variable, asked_for, settings[i].value);
        status = ucp_config_modify(*config, settings[i].key, settings[i].value);
        if (status != UCS_OK)
            ctn_debug(log, "this UCX does not know %s: %s", settings[i].key,
                      ucs_status_string(status));
    }
    if (transport->devices != NULL &&
        secure_getenv("UCX_NET_DEVICES") == NULL) {
        status = ucp_config_modify(*config, "NET_DEVICES", transport->devices);
        ctn_debug(log, "network devices: %s (%s)", transport->devices,
                  ucs_status_string(status));
    }
    return CATENA_OK;
}

static catena_status_t open_context(ctn_ucx_t *transport)
{
    ucp_config_t *config;
    catena_status_t result = read_config(&transport->params, &config);
    if (result != CATENA_OK)
        return result;
    ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES,
        .features = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_WAKEUP,
    };
    ucs_status_t status = ucp_init(&params, config, &transport->context);
    ucp_config_release(config);
    if (status != UCS_OK) {
        ctn_error(transport->params.log,
                  "UCX found no network: %s; UCX_TLS is %s, devices are %s; "
                  "expected a transport of the network such as tcp, and its "
                  "devices (CATENA_NET_DEVICES, UCX_NET_DEVICES)",
                  ucs_status_string(status),
                  secure_getenv("UCX_TLS") != NULL ? secure_getenv("UCX_TLS")
                                                   : "not set",
                  transport->params.devices != NULL ? transport->params.devices
                                                    : "all");
        return ctn_ucx_status(status);
    }
    return CATENA_OK;
}

static catena_status_t open_worker(ctn_ucx_t *transport)
{
    ucp_worker_params_t params = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        /* SERIALIZED takes a further fence at each send of mlx5 */
        .thread_mode = transport->params.shared ? UCS_THREAD_MODE_SERIALIZED
                                                : UCS_THREAD_MODE_SINGLE,
    };
    ucs_status_t status =
        ucp_worker_create(transport->context, &params, &transport->worker);
    if (status != UCS_OK) {
        ctn_error(transport->params.log,
                  "UCX created no worker: %s; each process needs some open "
                  "files for the network (ulimit -n)",
                  ucs_status_string(status));
        return ctn_ucx_status(status);
    }
    if (ucp_worker_get_efd(transport->worker, &transport->event_fd) == UCS_OK)
        transport->base.caps |= CTN_CAP_SLEEP;
    else
        transport->event_fd = -1;
    return CATENA_OK;
}

/** The arena is sparse and may be larger than the memory. Registration must not
 * touch it, so the mapping is nonblocking. */
static catena_status_t register_arena(ctn_ucx_t *transport)
{
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH |
                      UCP_MEM_MAP_PARAM_FIELD_FLAGS,
        .address = transport->params.arena,
        .length = transport->params.arena_bytes,
        .flags = UCP_MEM_MAP_NONBLOCK,
    };
    ucs_status_t status =
        ucp_mem_map(transport->context, &params, &transport->memory);
    if (status != UCS_OK) {
        ctn_error(transport->params.log,
                  "UCX cannot register %zu bytes of the heap: %s. The limit "
                  "of locked memory (ulimit -l) may be too small; "
                  "reduce CATENA_HEAP_SIZE",
                  transport->params.arena_bytes, ucs_status_string(status));
        return ctn_ucx_status(status);
    }
    return CATENA_OK;
}

/** Whether a UCX transport puts by RDMA. tcp and shared memory use active
 * messages or copies, which need the target's progress. */
static bool is_rdma(const char *name)
{
    static const char *const prefixes[] = {"rc_", "dc_", "ugni_rdma"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/** Whether a UCX transport reaches only processes on the same host. */
static bool is_local(const char *name)
{
    static const char *const names[] = {"self", "sysv", "posix",
                                        "cma",  "knem", "xpmem"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/** The UCX transports that UCX_TLS and UCX_NET_DEVICES allow. */
typedef struct ucx_survey {
    bool rdma;      /* one puts by RDMA */
    bool network;   /* one reaches other hosts */
    char names[80]; /* without self, comma-separated */
    unsigned lines; /* that say so; 0: UCX has printed none */
} ucx_survey_t;

/** Add the transport of a printed "transport/device". */
static void survey_add(ucx_survey_t *survey, char *name)
{
    size_t used = strlen(survey->names);

    name[strcspn(name, "/")] = '\0'; /* the device */
    survey->rdma = survey->rdma || is_rdma(name);
    survey->network = survey->network || !is_local(name);
    if (strcmp(name, "self") == 0 || strstr(survey->names, name) != NULL ||
        used + strlen(name) + 2 > sizeof(survey->names))
        return;
    snprintf(survey->names + used, sizeof(survey->names) - used, "%s%s",
             used > 0 ? "," : "", name);
}

/** List the UCX transports. UCP offers that only in printed form, as lines "#
 * resource 0 : md 0 dev 0 flags -- tcp/eth0". Without such lines assume a
 * network without RDMA. */
static ucx_survey_t survey_transports(const ctn_ucx_t *transport)
{
    ucx_survey_t survey = {.rdma = false};
    char *text = NULL, *rest = NULL;
    size_t bytes = 0;

    FILE *stream = open_memstream(&text, &bytes);
    if (stream != NULL) {
        ucp_context_print_info(transport->context, stream);
        fclose(stream);
    }
    for (char *line = text != NULL ? strtok_r(text, "\n", &rest) : NULL;
         line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        char *name = strrchr(line, ' ');
        if (strstr(line, " resource ") == NULL || name == NULL)
            continue;
        survey_add(&survey, name + 1);
        survey.lines++;
    }
    free(text);
    survey.network = survey.network || survey.lines == 0;
    return survey;
}

/** Decide how put_signal works and whether UCX detects the death of peers. */
static void choose_modes(ctn_ucx_t *transport)
{
    ucx_survey_t survey = survey_transports(transport);
    const ctn_ucx_config_t *set =
        ctn_config_values(transport->params.config, &ctn_ucx_settings);

    transport->rma =
        set->put == CTN_PUT_RMA || (set->put == CTN_PUT_AUTO && survey.rdma);
    transport->isolated = survey.names[0] == '\0' && survey.lines > 0;
    if (survey.rdma && transport->rma)
        transport->base.caps |= CTN_CAP_RDMA;
    if (!transport->rma)
        transport->base.caps |= CTN_CAP_EXPOSE;
    /* Without error handling the death of a peer causes an endless wait. Error
     * handling costs nothing over tcp (measured), but UCX 1.13 does not support
     * it over shared memory. So it is off only if UCX_TLS allows nothing but
     * transports within a host, which connect virtual nodes. */
    transport->error_mode = survey.network ? UCP_ERR_HANDLING_MODE_PEER
                                           : UCP_ERR_HANDLING_MODE_NONE;
    snprintf(transport->description, sizeof(transport->description),
             "ucx %s, %s", survey.names[0] != '\0' ? survey.names : "self",
             transport->rma ? "put, fence, put" : "active messages");
}

static void ucx_destroy(ctn_transport_t *base)
{
    ctn_ucx_t *transport = (ctn_ucx_t *)base;
    if (transport == NULL)
        return;
    transport->closing = transport->abandoned = true;
    if (transport->worker != NULL) {
        ctn_ucx_disconnect(transport);
        ucp_worker_destroy(transport->worker);
    }
    if (transport->memory != NULL)
        ucp_mem_unmap(transport->context, transport->memory);
    if (transport->context != NULL)
        ucp_cleanup(transport->context);
    ctn_ucx_free_ops(transport);
    ctn_ucx_free_arrivals(transport);
    ctn_exposed_free(&transport->exposed);
    ctn_ucx_free_syncs(transport);
    ctn_ucx_drop_fetches(transport);
    free(transport->ep_address);
    free(transport);
}

static catena_status_t ucx_create(const ctn_transport_params_t *params,
                                  ctn_transport_t **result)
{
    ctn_ucx_t *transport = calloc(1, sizeof(*transport));
    if (transport == NULL) {
        ctn_error(params->log, "no memory for the network");
        return CATENA_ERR_NO_MEMORY;
    }
    transport->base.ops = &ctn_ucx_ops;
    transport->params = *params;
    transport->event_fd = -1;
    transport->deferred_end = &transport->deferred_list;
    transport->fences = 1;

    catena_status_t status = open_context(transport);
    if (status == CATENA_OK)
        status = open_worker(transport);
    if (status == CATENA_OK)
        status = register_arena(transport);
    if (status == CATENA_OK)
        status = ctn_ucx_set_handlers(transport);
    if (status == CATENA_OK)
        status = ctn_ucx_make_ep_address(transport);
    if (status != CATENA_OK) {
        ucx_destroy(&transport->base);
        return status;
    }
    transport->params.devices = NULL; /* of the caller */
    choose_modes(transport);
    ctn_debug(params->log, "%s", transport->description);
    *result = &transport->base;
    return CATENA_OK;
}

static void ucx_ep_address(ctn_transport_t *base, const void **ep_address,
                           size_t *bytes)
{
    ctn_ucx_t *transport = (ctn_ucx_t *)base;
    *ep_address = transport->ep_address;
    *bytes = transport->ep_address_bytes;
}

static void ucx_watch(ctn_transport_t *base, ctn_death_handler_t handler,
                      void *argument)
{
    ctn_ucx_t *transport = (ctn_ucx_t *)base;
    transport->died = handler;
    transport->died_argument = argument;
}

/** Pass on which peers are gone. The handler may add endpoints. */
static void tell_deaths(ctn_ucx_t *transport)
{
    transport->deaths = false;
    for (size_t i = 0; i < transport->endpoints.slots; i++) {
        ctn_ucx_endpoint_t *endpoint = transport->endpoints.entry[i].value;
        if (endpoint == NULL || endpoint->told ||
            (!endpoint->failed && !endpoint->disconnected))
            continue;
        endpoint->told = true;
        transport->died(transport->died_argument, endpoint->base.process,
                        endpoint->disconnected);
        transport->deaths = true; /* look again: entries may have moved */
    }
}

static int ucx_progress(ctn_transport_t *base)
{
    ctn_ucx_t *transport = (ctn_ucx_t *)base;
    unsigned events = ucp_worker_progress(transport->worker);
    if (transport->deferred_list != NULL)
        ctn_ucx_run_deferred(transport);
    if (transport->deaths && transport->died != NULL)
        tell_deaths(transport);
    if (transport->status != CATENA_OK)
        return transport->status;
    return events > 0;
}

static bool ucx_sleep(ctn_transport_t *base, uint64_t timeout_ns, int fd)
{
    ctn_ucx_t *transport = (ctn_ucx_t *)base;
    if (timeout_ns > LONGEST_SLEEP_NS)
        timeout_ns = LONGEST_SLEEP_NS;
    struct timespec timeout = ctn_clock_timespec(timeout_ns);
    /* poll ignores descriptors of -1. */
    struct pollfd event[] = {{.fd = transport->event_fd, .events = POLLIN},
                             {.fd = fd, .events = POLLIN}};

    if (transport->deferred_list != NULL || transport->status != CATENA_OK ||
        transport->deaths)
        return false;
    /* It returns BUSY if there were events since the last progress. */
    if (transport->event_fd >= 0 && ucp_worker_arm(transport->worker) != UCS_OK)
        return false;
    return ppoll(event, 2, &timeout, NULL) > 0 && event[1].revents != 0;
}

static void ucx_abandon(ctn_transport_t *base, catena_status_t status)
{
    ctn_ucx_t *transport = (ctn_ucx_t *)base;
    transport->abandoned = true;
    memset(transport->posted, 0, sizeof(transport->posted));
    ctn_exposed_free(&transport->exposed);
    ctn_ucx_drop_fetches(transport);
    ctn_ucx_fail(transport, status);
}

static const char *ucx_describe(ctn_transport_t *base)
{
    return ((ctn_ucx_t *)base)->description;
}

const ctn_transport_ops_t ctn_ucx_ops = {
    .create = ucx_create,
    .destroy = ucx_destroy,
    .ep_address = ucx_ep_address,
    .connect = ctn_ucx_connect,
    .get = ctn_ucx_get,
    .put_signal = ctn_ucx_put_signal,
    .post_receive = ctn_ucx_post_receive,
    .cancel_receive = ctn_ucx_cancel_receive,
    .expose = ctn_ucx_expose,
    .conceal = ctn_ucx_conceal,
    .flush = ctn_ucx_flush,
    .progress = ucx_progress,
    .sleep = ucx_sleep,
    .abandon = ucx_abandon,
    .watch = ucx_watch,
    .describe = ucx_describe,
};
