/* A run from numpy's own dense arrays into new ones, as one call of the interpreter's: what calls.py does in Python, which takes some times as long.
 * No header of Python's and no library of its: one file serves every CPython, whose functions here are of the stable ABI, or have been as they are
 * since 3.3 (those of buffers). calls.py has the structs, fills them and keeps what they point to. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct PyObject PyObject;
typedef struct {
    void* buf;
    PyObject* obj;
    ptrdiff_t len, itemsize;
    int readonly, ndim;
    char* format;
    ptrdiff_t *shape, *strides, *suboffsets;
    void* internal;
} Py_buffer;
enum { PyBUF_WRITABLE = 1, PyBUF_ND = 8 };

extern PyObject* PyDict_GetItemWithError(PyObject*, PyObject*);
extern PyObject* PyDict_New(void);
extern int PyDict_SetItem(PyObject*, PyObject*, PyObject*);
extern ptrdiff_t PyDict_Size(PyObject*);
extern void PyBuffer_Release(Py_buffer*);
extern int PyObject_GetBuffer(PyObject*, Py_buffer*, int);
extern void PyErr_Clear(void);
extern void* PyEval_SaveThread(void);
extern void PyEval_RestoreThread(void*);
extern void* PyLong_AsVoidPtr(PyObject*);
extern PyObject* PyLong_FromLong(long);
extern PyObject* PyObject_Call(PyObject*, PyObject*, PyObject*);
extern PyObject* PyObject_GetAttr(PyObject*, PyObject*);
extern PyObject* PyObject_Type(PyObject*);
extern void Py_DecRef(PyObject*);
extern void Py_IncRef(PyObject*);

enum { kMost = 16 }; /* operands */

typedef struct { /* an array that is read: its address goes where *address is */
    PyObject *name, *dtype;
    void** address;
    int64_t dims[8];
    uint32_t rank, reserved;
} Operand;
typedef struct { /* one that is made, by numpy.empty(*arguments) */
    PyObject *name, *arguments;
    void** address;
} Result;
typedef struct {
    PyObject *array_type, *dict_type, *none, *empty, *dtype_word;
    const Operand* operands;
    const Result* results;
    uint32_t operand_count, result_count;
    /* The C API's. prepare: of a model, whose results may depend on what is in the arrays; null: there is none. */
    uint32_t (*prepare)(void*, const void*, uint32_t, void*, uint32_t, uint32_t*, void*);
    uint32_t (*run)(void*, const void*, uint32_t, const void*, uint32_t, const uint32_t*, void*);
    uint32_t (*submit)(void*, const void*, uint32_t, const void*, uint32_t, const uint32_t*, void**, void*);
    void *session, *given, *wanted, *error;
    void* prepared;       /* what prepare fills: of so many bytes, */
    const void* expected; /* which are these for results as they are above */
    uint64_t prepared_bytes;
    uint32_t prepared_count, reserved;
} Call;

/* Whether `object` is of the type, and its attribute `word`, where that is asked for, is `value` itself. */
static int is_such(PyObject* object, PyObject* type, PyObject* word, PyObject* value) {
    PyObject* mine = PyObject_Type(object);
    Py_DecRef(mine); /* the object keeps it */
    if (mine != type) return 0;
    if (word == NULL) return 1;
    PyObject* there = PyObject_GetAttr(object, word);
    if (there == NULL) {
        PyErr_Clear();
        return 0;
    }
    Py_DecRef(there); /* compared alone */
    return there == value;
}

static int take(const Call* call, const Operand* operand, PyObject* inputs, Py_buffer* view) {
    PyObject* array = PyDict_GetItemWithError(inputs, operand->name);
    if (array == NULL || !is_such(array, call->array_type, call->dtype_word, operand->dtype) ||
        PyObject_GetBuffer(array, view, PyBUF_ND) != 0) {
        PyErr_Clear();
        return 0;
    }
    int same = view->ndim == (int)operand->rank;
    for (uint32_t d = 0; same && d < operand->rank; ++d) same = view->shape[d] == operand->dims[d];
    if (!same) {
        PyBuffer_Release(view);
        return 0;
    }
    *operand->address = view->buf;
    return 1;
}

/* Where it is to be written; null: an exception is set. */
static PyObject* make(const Call* call, const Result* result) {
    PyObject* array = PyObject_Call(call->empty, result->arguments, NULL);
    Py_buffer view;
    if (array == NULL || PyObject_GetBuffer(array, &view, PyBUF_WRITABLE) != 0) {
        if (array != NULL) Py_DecRef(array);
        return NULL;
    }
    *result->address = view.buf;
    PyBuffer_Release(&view);
    return array;
}

/* Without the interpreter's lock. *fits 0: the results are others than expected, and nothing has run. */
static uint32_t run(const Call* call, int* fits) {
    const uint32_t given = call->operand_count, wanted = call->result_count;
    uint32_t count = 0, code = 0;
    if (call->prepare != NULL)
        code = call->prepare(call->session, call->given, given, call->prepared, call->prepared_count, &count, call->error);
    *fits = code != 0 || call->prepare == NULL || memcmp(call->prepared, call->expected, call->prepared_bytes) == 0;
    if (code != 0 || !*fits) return code;
    if (call->run != NULL) return call->run(call->session, call->given, given, call->wanted, wanted, NULL, call->error);
    return call->submit(call->session, call->given, given, call->wanted, wanted, NULL, NULL, call->error);
}

static PyObject* none_of(const Call* call) {
    Py_IncRef(call->none);
    return call->none;
}

/* All new arrays in a dict, and they are written; null: an exception is set. */
static PyObject* run_into_new(const Call* call) {
    PyObject* results = PyDict_New();
    for (uint32_t i = 0; results != NULL && i < call->result_count; ++i) {
        PyObject* array = make(call, &call->results[i]);
        const int kept = array != NULL && PyDict_SetItem(results, call->results[i].name, array) == 0;
        if (array != NULL) Py_DecRef(array); /* the dict keeps it, which nobody else has */
        if (kept) continue;
        Py_DecRef(results);
        return NULL;
    }
    if (results == NULL) return NULL;
    int fits = 0;
    void* thread = PyEval_SaveThread();
    const uint32_t code = run(call, &fits);
    PyEval_RestoreThread(thread);
    if (code == 0 && fits) return results;
    Py_DecRef(results);
    return fits ? PyLong_FromLong((long)code) : none_of(call);
}

/* A method of the interpreter's with one argument; self: the address of a Call. The new arrays by name; None, and nothing was done, where an array is
 * not as said; a whole number: the code of what failed. */
__attribute__((visibility("default"))) PyObject* backplane_python_run(PyObject* self, PyObject* inputs) {
    const Call* call = PyLong_AsVoidPtr(self);
    Py_buffer views[kMost]; /* each keeps its array */
    uint32_t taken = 0;
    if (!is_such(inputs, call->dict_type, NULL, NULL) || PyDict_Size(inputs) != (ptrdiff_t)call->operand_count)
        return none_of(call);
    while (taken < call->operand_count && take(call, &call->operands[taken], inputs, &views[taken])) ++taken;
    PyObject* answer = taken == call->operand_count ? run_into_new(call) : none_of(call);
    while (taken > 0) PyBuffer_Release(&views[--taken]);
    return answer;
}
