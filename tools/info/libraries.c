/* Asks UCX, PMIx, SCOTCH and jansson. */

#include "libraries.h"

#include <dlfcn.h>
#include <jansson.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

const char *library_ucx_version(void)
{
    return ucp_get_version_string();
}

const char *library_pmix_version(void)
{
    return PMIx_Get_version();
}

int library_pmix_built(void)
{
    return (int)PMIX_VERSION_MAJOR;
}

const char *library_jansson_version(void)
{
    return jansson_version_str();
}

const char *library_scotch_version(char text[LIBRARY_TEXT_BYTES])
{
    /* libcatena brings it along, or was built without it. */
    void (*version)(int *, int *, int *);
    void *found = dlsym(RTLD_DEFAULT, "SCOTCH_version");
    int number[3] = {0, 0, 0};
    if (found == NULL) {
        return NULL;
    }
    memcpy(&version, &found, sizeof(version));
    version(&number[0], &number[1], &number[2]);
    snprintf(text, LIBRARY_TEXT_BYTES, "%d.%d.%d", number[0], number[1],
             number[2]);
    return text;
}

int library_pmix_join(const char **why)
{
    pmix_proc_t self;
    pmix_status_t status = PMIx_Init(&self, NULL, 0);
    if (status != PMIX_SUCCESS) {
        *why = PMIx_Error_string(status);
        return 1;
    }
    status = PMIx_Finalize(NULL, 0);
    *why = PMIx_Error_string(status);
    return status == PMIX_SUCCESS ? 0 : 1;
}

/** Add a printed "transport/device". @return the number of transports */
static size_t add_resource(library_transport_t *transports, size_t count,
                           const char *name)
{
    size_t length = strcspn(name, "/");
    size_t i = 0;
    while (i < count && (strncmp(transports[i].name, name, length) != 0 ||
                         transports[i].name[length] != '\0')) {
        i++;
    }
    if (i == TRANSPORTS || name[length] == '\0' ||
        length >= sizeof(transports[i].name)) {
        return count;
    }
    library_transport_t *transport = &transports[i];
    if (i == count) {
        *transport = (library_transport_t){.devices = ""};
        memcpy(transport->name, name, length);
        count++;
    }
    size_t used = strlen(transport->devices);
    snprintf(transport->devices + used, sizeof(transport->devices) - used,
             "%s%s", used > 0 ? ", " : "", name + length + 1);
    return count;
}

/** UCP lists its resources in printed form only, as lines "# resource 0 : md 0
 * dev 0 flags -- tcp/eth0". */
static size_t read_resources(library_transport_t *transports,
                             ucp_context_h context)
{
    char *text = NULL;
    char *rest = NULL;
    size_t bytes = 0;
    size_t count = 0;
    FILE *stream = open_memstream(&text, &bytes);
    if (stream == NULL) {
        return 0;
    }
    ucp_context_print_info(context, stream);
    fclose(stream);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        const char *name = strrchr(line, ' ');
        if (strstr(line, " resource ") != NULL && name != NULL) {
            count = add_resource(transports, count, name + 1);
        }
    }
    free(text);
    return count;
}

size_t library_ucx_transports(library_transport_t *transports, const char **why)
{
    ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES,
        .features = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_WAKEUP,
    };
    ucp_config_t *config;
    ucp_context_h context;
    /* UCX logs on stdout. */
    fflush(stdout);
    int own = dup(STDOUT_FILENO);
    (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    ucs_status_t status = ucp_config_read(NULL, NULL, &config);
    if (status == UCS_OK) {
        status = ucp_init(&params, config, &context);
        ucp_config_release(config);
    }
    fflush(stdout);
    if (own >= 0) {
        (void)dup2(own, STDOUT_FILENO);
        close(own);
    }
    if (status != UCS_OK) {
        *why = ucs_status_string(status);
        return 0;
    }
    size_t count = read_resources(transports, context);
    *why = "this UCX does not list them";
    ucp_cleanup(context);
    return count;
}
