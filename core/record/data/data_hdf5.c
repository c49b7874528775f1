// Writes HDF5 files (h5.h reads them). Each array is a dataset, and its unit is the attribute
// "units". The run is stored in attributes of the file. The file is built in memory first, because
// the library cannot close a file that it cannot write, for example on a full disk. Allocations
// return NULL on failure during library calls, because a jump out of the library would leave it in
// an invalid state.
#include "record/data/data_formats.h"

#include <stdlib.h>
#include <string.h>

// ---- Limits -----------------------------------------------------------------------------------

enum {
  LONGEST_NAME = 1000,  // bytes; readers reject longer names, too
  LONGEST_TEXT = 60000, // bytes. An attribute including its overhead must be smaller than 64 KiB
  MOST_ENTRIES = 1000,  // maximum number of entries of the run
};

// Orders texts so that the contents of a group directly follow the group.
static int hdf5_by_place(const void *a, const void *b) {
  const unsigned char *x = *(const unsigned char *const *)a, *y = *(const unsigned char *const *)b;
  for (; *x == *y && *x != '\0'; x++, y++) {
  }
  int first = *x == '/' ? 1 : *x + (*x != '\0'), second = *y == '/' ? 1 : *y + (*y != '\0');
  return first - second;
}

// Returns true if no part between slashes is empty or a single dot.
static bool is_path(const char *name) {
  for (const char *at = name;; at++) {
    size_t length = strcspn(at, "/");
    if (length == 0 || (length == 1 && *at == '.')) {
      return false;
    }
    at += length;
    if (*at == '\0') {
      return true;
    }
  }
}

S2Status s2_hdf5_check(const S2DataSet *set) {
  size_t count = (size_t)set->arrays.count;
  S2Status status = s2_ok();
  const char **names = s2_memory_take((count + 1) * sizeof *names);
  // Check each name separately, and its unit.
  for (size_t i = 0; i < count && status.code == S2_OK; i++) {
    names[i] = set->arrays.at[i].name;
    if (!is_path(names[i]) || strlen(names[i]) > LONGEST_NAME) {
      status =
          s2_error(S2_INVALID,
                   "an array of an .h5 file cannot have the name '%.60s': no part between slashes "
                   "may be empty or '.', and the whole name must have at most %d bytes",
                   names[i], (int)LONGEST_NAME);
    } else if (strlen(set->arrays.at[i].unit) > LONGEST_TEXT) {
      status = s2_error(S2_INVALID, "the unit of '%.60s' is longer than %d bytes", names[i],
                        (int)LONGEST_TEXT);
    }
  }
  // Check that no array has the name of a group. In the order of paths, such an array directly
  // precedes the contents of the group.
  if (status.code == S2_OK && count > 1) {
    qsort(names, count, sizeof *names, hdf5_by_place);
  }
  for (size_t i = 1; i < count && status.code == S2_OK; i++) {
    size_t length = strlen(names[i - 1]);
    bool inside = strncmp(names[i], names[i - 1], length) == 0 &&
                  (names[i][length] == '/' || names[i][length] == '\0');
    if (inside) {
      status = s2_error(
          S2_INVALID,
          "an .h5 file cannot hold both '%.60s' and '%.60s': a name before a slash is a group",
          names[i], names[i - 1]);
    }
  }
  s2_memory_free(names);
  return status;
}

#ifdef S2_HAVE_HDF5

#include <hdf5.h>
#include <pthread.h>

static const char UNITS[] = "units";
static const size_t GROWTH = (size_t)1
                             << 20; // bytes. The file in memory grows in steps of this size

bool s2_hdf5_available(void) {
  return true;
}

// Silence the library, which prints errors by default.
typedef struct Hush {
  H5E_auto2_t print;
  void *data;
} Hush;

static Hush hdf5_hush(void) {
  Hush before = {0};
  H5Eget_auto2(H5E_DEFAULT, &before.print, &before.data);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  return before;
}

static void hdf5_unhush(Hush before) {
  H5Eset_auto2(H5E_DEFAULT, before.print, before.data);
}

// ---- Writing ----------------------------------------------------------------------------------

static bool write_attribute(hid_t object, const char *name, const char *text) {
  hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  H5Tset_size(type, strlen(text) + 1);
  H5Tset_cset(type, H5T_CSET_UTF8);
  hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  bool good = attribute >= 0 && H5Awrite(attribute, type, text) >= 0;
  if (attribute >= 0) {
    H5Aclose(attribute);
  }
  H5Sclose(space);
  H5Tclose(type);
  return good;
}

static S2Status hdf5_written(bool good, const S2DataArray *array) {
  return good ? s2_ok()
              : s2_error(S2_INVALID,
                         "HDF5 cannot store the array '%.60s': is the name already in use, or is a "
                         "part between slashes '.'?",
                         array->name);
}

static S2Status write_values(hid_t dataset, hid_t type, const S2DataArray *array) {
  size_t count = s2_data_count(array);
  if (count == 0) {
    return s2_ok();
  }
  if (array->type != S2_DATA_TEXT) {
    return hdf5_written(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, array->values) >= 0,
                        array);
  }
  // Texts are passed as pointers.
  const char **texts = s2_memory_try(count * sizeof *texts), *at = array->values;
  if (texts == NULL) {
    return s2_memory_exhausted(count * sizeof *texts);
  }
  for (size_t i = 0; i < count; i++) {
    texts[i] = at;
    at += strlen(at) + 1;
  }
  bool good = H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts) >= 0;
  s2_memory_free(texts);
  return hdf5_written(good, array);
}

static S2Status write_array(hid_t file, const S2DataArray *array) {
  // Describe the shape and type for HDF5.
  hsize_t shape[S2_DATA_AXES];
  for (int i = 0; i < array->axes; i++) {
    shape[i] = array->shape[i];
  }
  hid_t type = H5Tcopy(array->type == S2_DATA_NUMBER    ? H5T_NATIVE_DOUBLE
                       : array->type == S2_DATA_INTEGER ? H5T_NATIVE_INT64
                       : array->type == S2_DATA_FLAG    ? H5T_NATIVE_UCHAR
                                                        : H5T_C_S1);
  if (array->type == S2_DATA_TEXT) {
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
  }
  hid_t space =
      array->axes > 0 ? H5Screate_simple(array->axes, shape, NULL) : H5Screate(H5S_SCALAR);
  // Create the dataset, with the groups in its name.
  hid_t links = H5Pcreate(H5P_LINK_CREATE); // "a/b" is the dataset b in the group a
  H5Pset_create_intermediate_group(links, 1);
  H5Pset_char_encoding(links, H5T_CSET_UTF8);
  hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(
      creation,
      false); // leave out the time of writing, so that equal data give equal files
  hid_t dataset = H5Dcreate2(file, array->name, type, space, links, creation, H5P_DEFAULT);
  S2Status status = hdf5_written(dataset >= 0, array);
  if (status.code == S2_OK) {
    status = write_values(dataset, type, array);
  }
  // Store the unit as an attribute of the array.
  if (status.code == S2_OK && array->unit[0] != '\0') {
    status = hdf5_written(write_attribute(dataset, UNITS, array->unit), array);
  }
  if (dataset >= 0) {
    H5Dclose(dataset);
  }
  H5Pclose(creation);
  H5Pclose(links);
  H5Sclose(space);
  H5Tclose(type);
  return status;
}

typedef struct Keys {
  const S2Run *run;
  S2RunKey *at;
} Keys;

static S2Status make_keys(void *user) {
  Keys *keys = user;
  keys->at = s2_data_run_keys(keys->run);
  return s2_ok();
}

static S2Status hdf5_write_all(hid_t file, S2Output *output, const S2DataSet *set) {
  for (int i = 0; i < set->arrays.count; i++) {
    S2_TRY(write_array(file, &set->arrays.at[i]));
  }
  // Omit entries beyond the limits. Long entries could make writing fail, and many entries make it
  // slow.
  Keys keys = {.run = &set->run};
  S2_TRY(s2_memory_building(make_keys, &keys));
  S2Status status = s2_ok();
  for (int i = 0; i < set->run.entries.count && i < MOST_ENTRIES && status.code == S2_OK; i++) {
    const char *value = set->run.entries.at[i].value;
    if (strlen(value) <= LONGEST_TEXT && keys.at[i][0] != '\0' &&
        !write_attribute(file, keys.at[i], value)) {
      status =
          s2_error(S2_INVALID, "HDF5 cannot store the attribute '%.60s' of the run", keys.at[i]);
    }
  }
  s2_memory_free(keys.at);
  S2_TRY(status);
  // Copy the file from memory to the output.
  H5Fflush(file, H5F_SCOPE_GLOBAL);
  ssize_t size = H5Fget_file_image(file, NULL, 0);
  if (size <= 0) {
    return s2_error(S2_INVALID, "HDF5 cannot create the file");
  }
  void *image = s2_memory_try((size_t)size);
  if (image == NULL) {
    return s2_memory_exhausted((size_t)size);
  }
  bool good = H5Fget_file_image(file, image, (size_t)size) == size;
  s2_output_bytes(output, image, (size_t)size);
  s2_memory_free(image);
  return good ? s2_ok() : s2_error(S2_INVALID, "HDF5 cannot create the file");
}

// Only one thread may use the library at a time, because it has global state and is usually built
// without locks.
static pthread_mutex_t hdf5_door = PTHREAD_MUTEX_INITIALIZER;

static S2Status hdf5_save_alone(S2Output *output, const S2DataSet *set) {
  Hush before = hdf5_hush();
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_core(access, GROWTH, 0);
  hid_t creation = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
  S2Status status = s2_error(S2_INVALID, "HDF5 cannot create the file");
  hid_t file = H5Fcreate("sim2d", H5F_ACC_TRUNC, creation, access); // never written to disk
  if (file >= 0) {
    status = hdf5_write_all(file, output, set);
    H5Fclose(file);
  }
  H5Pclose(creation);
  H5Pclose(access);
  hdf5_unhush(before);
  return status;
}

S2Status s2_hdf5_save(S2Output *output, const S2DataSet *set) {
  pthread_mutex_lock(&hdf5_door);
  S2Status status = hdf5_save_alone(output, set);
  pthread_mutex_unlock(&hdf5_door);
  return status;
}

#else

bool s2_hdf5_available(void) {
  return false;
}

// Never called, because paths with this suffix are rejected earlier.
S2Status s2_hdf5_save(S2Output *output, const S2DataSet *set) {
  (void)output;
  (void)set;
  return s2_error(S2_UNAVAILABLE, "built without HDF5");
}

#endif
