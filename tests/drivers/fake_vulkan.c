/* A Vulkan driver with one fault, which BP_FAKE_DRIVER names: crash, hang, exit (in its entry), unwilling (no instance), none (no device). */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vk_icd.h>
#include <vulkan/vulkan_core.h>

static int is(const char* fault) {
    const char* wanted = getenv("BP_FAKE_DRIVER");
    return wanted != NULL && strcmp(wanted, fault) == 0;
}

/* As a layer it crashes, always. */
__attribute__((visibility("default"))) VkResult vkNegotiateLoaderLayerInterfaceVersion(void* versions) {
    (void)versions;
    raise(SIGSEGV);
    return VK_ERROR_INITIALIZATION_FAILED;
}

__attribute__((visibility("default"))) VkResult vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t* version) {
    if (is("crash")) raise(SIGSEGV);
    if (is("exit")) exit(0);
    while (is("hang")) sleep(1);
    if (*version > 5) *version = 5;
    return VK_SUCCESS;
}

/* What the loader wants to be there and never calls without a device. */
static VkResult nothing(void) { return VK_ERROR_INITIALIZATION_FAILED; }

static VkResult no_extensions(const char* layer, uint32_t* count, VkExtensionProperties* out) {
    (void)layer, (void)out;
    *count = 0;
    return VK_SUCCESS;
}

static VkResult version(uint32_t* out) {
    *out = VK_API_VERSION_1_3;
    return VK_SUCCESS;
}

static VkResult create(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* allocator, VkInstance* out) {
    static VK_LOADER_DATA instance;
    (void)info, (void)allocator;
    if (is("unwilling")) return VK_ERROR_INCOMPATIBLE_DRIVER;
    set_loader_magic_value(&instance);
    *out = (VkInstance)&instance;
    return VK_SUCCESS;
}

static void destroy(VkInstance instance, const VkAllocationCallbacks* allocator) { (void)instance, (void)allocator; }

static VkResult no_devices(VkInstance instance, uint32_t* count, VkPhysicalDevice* out) {
    (void)instance, (void)out;
    *count = 0;
    return VK_SUCCESS;
}

__attribute__((visibility("default"))) PFN_vkVoidFunction vk_icdGetInstanceProcAddr(VkInstance instance, const char* name) {
    (void)instance;
    if (strcmp(name, "vkEnumerateInstanceExtensionProperties") == 0) return (PFN_vkVoidFunction)no_extensions;
    if (strcmp(name, "vkEnumerateInstanceVersion") == 0) return (PFN_vkVoidFunction)version;
    if (strcmp(name, "vkCreateInstance") == 0) return (PFN_vkVoidFunction)create;
    if (strcmp(name, "vkDestroyInstance") == 0) return (PFN_vkVoidFunction)destroy;
    if (strcmp(name, "vkEnumeratePhysicalDevices") == 0) return (PFN_vkVoidFunction)no_devices;
    if (strstr(name, "KHR") != NULL || strstr(name, "EXT") != NULL || strncmp(name, "vk_icd", 6) == 0) return NULL;
    return (PFN_vkVoidFunction)nothing;
}
