// Package envtest tests against Mooring, by controller-runtime's envtest with an existing cluster.
package envtest

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

func TestAClaimBinds(t *testing.T) {
	environment := &envtest.Environment{}
	config, err := environment.Start() // USE_EXISTING_CLUSTER=true, KUBECONFIG=...
	if err != nil {
		t.Fatal(err)
	}
	defer environment.Stop()
	api, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "envtest", Namespace: "default"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			},
		},
	}
	ctx := context.Background()
	if err := api.Create(ctx, claim); err != nil {
		t.Fatal(err)
	}
	bound := func(ctx context.Context) (bool, error) {
		err := api.Get(ctx, client.ObjectKeyFromObject(claim), claim)
		return claim.Status.Phase == corev1.ClaimBound, err
	}
	if err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, bound); err != nil {
		t.Fatalf("the claim is %s: %v", claim.Status.Phase, err)
	}
}
